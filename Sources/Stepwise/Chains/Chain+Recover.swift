// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Replaces an error of the previous steps with a value.
  ///
  /// Steps that completed are not undone. Cancellation is never replaced.
  ///
  /// - Parameter replacement: Returns the value, or throws a different error.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func recover(
    _ replacement: nonisolated(nonsending) @escaping @Sendable (any Error) async throws -> Output
  ) -> Chain {
    appendingRecovery { error in try await replacement(error) }
  }

  /// Replaces an error of one type, thrown by the previous steps, with a value.
  ///
  /// - Parameters:
  ///   - type: The type of error to replace; other errors are passed on.
  ///   - replacement: Returns the value, or throws a different error.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func recover<Failure: Error>(
    from type: Failure.Type,
    _ replacement: nonisolated(nonsending) @escaping @Sendable (Failure) async throws -> Output
  ) -> Chain {
    appendingRecovery { error in
      guard let failure = error as? Failure else { throw error }
      return try await replacement(failure)
    }
  }

  private nonisolated func appendingRecovery(
    _ replacement: nonisolated(nonsending) @escaping @Sendable (any Error) async throws -> Output
  ) -> Chain {
    let code: StepCode = { frame in
      guard let failure = frame.failure.take() else { return }
      frame.slot.put(try await replacement(failure))
    }
    return Chain(path.appending(.recover(code)))
  }
}
