// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Progression {
  /// Does this stage's work as a part of another progression: for use in the `next()` of that one.
  ///
  /// ```swift
  /// case .open(let stage, let destination):
  ///   try await stage.compose(
  ///     transformNext: { .open($0, destination) },
  ///     transformResult: { document in .upload(.post(destination, document.body)) }
  ///   )
  /// ```
  ///
  /// So every inner stage shows as a stage of the outer progression, the one with the result included: the step after that
  /// transforms the result.
  ///
  /// - Parameters:
  ///   - transformNext: Wraps the stage after this one; not called for a stage that has a result.
  ///   - transformResult: Goes on from this stage's result, when it has one.
  /// - Returns: The outer progression's stage after the one that holds this stage.
  /// - Throws: What the stage or a transformation throws.
  nonisolated(nonsending) public func compose<Outer: Progression>(
    transformNext: nonisolated(nonsending) (Self) async throws -> Outer,
    transformResult: nonisolated(nonsending) (Result) async throws -> Outer
  ) async throws -> Outer {
    if let result { return try await transformResult(result) }
    return try await transformNext(try await next())
  }

  /// The same progression with one stage more, in which its result is transformed.
  ///
  /// - Parameter transform: Takes the result; what it throws ends the progression.
  /// - Returns: A progression that begins where this stage is.
  public nonisolated func map<NewResult: Sendable>(
    _ transform: nonisolated(nonsending) @escaping @Sendable (Result) async throws -> NewResult
  ) -> MappedProgression<Self, NewResult> {
    MappedProgression(state: .running(self), transform: transform)
  }

  /// The same progression followed by another one, which is made of its result.
  ///
  /// - Parameter transform: Takes the result and gives the first stage of what follows; what it throws ends the progression.
  /// - Returns: A progression that begins where this stage is.
  public nonisolated func flatMap<Following: Progression>(
    _ transform: nonisolated(nonsending) @escaping @Sendable (Result) async throws -> Following
  ) -> FlatMappedProgression<Self, Following> {
    FlatMappedProgression(state: .first(self), transform: transform)
  }
}
