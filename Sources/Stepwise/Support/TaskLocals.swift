// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension TaskLocal {
  /// Binds a value while a body runs, in the isolation of the caller.
  // The operation of `withValue` runs on no actor unless it is isolated where it is written: a body that was passed to it
  // directly would leave the caller's actor.
  package func bind<Result>(
    _ value: Value,
    isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Result
  ) async rethrows -> Result {
    try await withValue(
      value,
      operation: {
        _ = isolation
        return try await body()
      },
      isolation: isolation
    )
  }
}
