// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error that ends a progression.
///
/// Further cases may be added, so end a `switch` over it with `default`.
public enum ProgressionError: Error, Sendable {
  /// `next()` was called on the last stage.
  case completed(stage: String)
}

extension ProgressionError: CustomStringConvertible {
  /// What went wrong, and how to fix it.
  public var description: String {
    switch self {
    case .completed(let stage):
      "\(stage) is the last stage of its progression; read its `result` instead of calling `next()`"
    }
  }
}
