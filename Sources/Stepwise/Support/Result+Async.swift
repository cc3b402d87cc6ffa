// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Result where Failure == any Error {
  /// Runs an operation and returns its result.
  static func of(_ operation: @Sendable () async throws -> Success) async -> Self where Success: Sendable {
    do { return .success(try await operation()) } catch { return .failure(error) }
  }
}
