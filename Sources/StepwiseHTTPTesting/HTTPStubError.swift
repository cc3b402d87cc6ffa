// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error in the use of a stub.
///
/// Further cases may be added, so end a `switch` over it with `default`.
public enum HTTPStubError: Error, Sendable, Hashable {
  /// No route matches the request.
  case noRoute(method: String, path: String)
}

extension HTTPStubError: CustomStringConvertible {
  /// What went wrong and how to fix it, in one line.
  public var description: String {
    switch self {
    case .noRoute(let method, let path): "the stub has no route for \(method) \(path); add one with `on`"
    }
  }
}
