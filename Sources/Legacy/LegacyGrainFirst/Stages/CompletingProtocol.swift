// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A value that is expected to have a completion.
@available(*, deprecated, message: "Use the result of `try await run()`")
public protocol CompletingProtocol {
  /// The completion.
  associatedtype Completion

  /// Returns the completion.
  ///
  /// - Throws: An error when there is none.
  func requireCompletion() throws -> Completion
}
