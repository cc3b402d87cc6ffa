// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Progression {
  /// Does the work of this stage as part of another progression; call it from the `next()` of that progression.
  ///
  /// ```swift
  /// case .open(let stage, let destination):
  ///   try await stage.compose(
  ///     transformNext: { .open($0, destination) },
  ///     transformResult: { document in .upload(.post(destination, document.body)) }
  ///   )
  /// ```
  ///
  /// Each inner stage appears as a stage of the outer progression, including the one with the result. The stage after
  /// that one is the transformed result.
  ///
  /// - Parameters:
  ///   - transformNext: Wraps the next inner stage; not called for a stage that has a result.
  ///   - transformResult: Returns the outer stage that follows the inner result.
  /// - Returns: The stage of the outer progression that follows the one that holds this stage.
  /// - Throws: What the stage or a transformation throws.
  nonisolated(nonsending) public func compose<Outer: Progression>(
    transformNext: nonisolated(nonsending) (Self) async throws -> Outer,
    transformResult: nonisolated(nonsending) (Result) async throws -> Outer
  ) async throws -> Outer {
    if let result { return try await transformResult(result) }
    return try await transformNext(try await next())
  }

  /// Returns a progression that transforms the result of this one in an additional stage.
  ///
  /// - Parameter transform: Receives the result. An error that it throws ends the progression.
  /// - Returns: A progression that starts at this stage.
  public nonisolated func map<NewResult: Sendable>(
    _ transform: nonisolated(nonsending) @escaping @Sendable (Result) async throws -> NewResult
  ) -> MappedProgression<Self, NewResult> {
    MappedProgression(state: .running(self), transform: transform)
  }

  /// Returns a progression that runs this one and then another one, created from the result.
  ///
  /// - Parameter transform: Receives the result and returns the first stage of the following progression. An error that
  ///   it throws ends the progression.
  /// - Returns: A progression that starts at this stage.
  public nonisolated func flatMap<Following: Progression>(
    _ transform: nonisolated(nonsending) @escaping @Sendable (Result) async throws -> Following
  ) -> FlatMappedProgression<Self, Following> {
    FlatMappedProgression(state: .first(self), transform: transform)
  }
}
