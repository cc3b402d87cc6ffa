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
  ) -> some Progression<NewResult> {
    MappedProgression(state: .running(self), transform: transform)
  }

  /// Returns a progression that runs this one and then another one, created from the result.
  ///
  /// - Parameter transform: Receives the result and returns the first stage of the following progression. An error that
  ///   it throws ends the progression.
  /// - Returns: A progression that starts at this stage.
  public nonisolated func flatMap<Following: Progression>(
    _ transform: nonisolated(nonsending) @escaping @Sendable (Result) async throws -> Following
  ) -> some Progression<Following.Result> {
    FlatMappedProgression(state: .first(self), transform: transform)
  }
}

/// A progression that transforms the result of another one in an additional stage.
private struct MappedProgression<Base: Progression, NewResult: Sendable>: Progression, CustomStringConvertible {
  enum State: Sendable {
    /// The base progression is at this stage; its last stage holds the result to transform.
    case running(Base)
    case completed(NewResult)
  }

  let state: State
  let transform: nonisolated(nonsending) @Sendable (Base.Result) async throws -> NewResult

  var result: NewResult? {
    if case .completed(let result) = state { result } else { nil }
  }

  @concurrent func next() async throws -> Self {
    switch state {
    case .running(let stage):
      try await stage.compose(
        transformNext: { Self(state: .running($0), transform: transform) },
        transformResult: { Self(state: .completed(try await transform($0)), transform: transform) }
      )
    case .completed: try completed()
    }
  }

  var description: String {
    switch state {
    case .running(let stage): "running(\(stage))"
    case .completed(let result): "completed(\(result))"
    }
  }
}

/// A progression followed by another one that is created from its result.
private struct FlatMappedProgression<Base: Progression, Following: Progression>: Progression, CustomStringConvertible {
  enum State: Sendable {
    /// The first progression is at this stage; its last stage holds the result.
    case first(Base)
    case following(Following)
  }

  let state: State
  let transform: nonisolated(nonsending) @Sendable (Base.Result) async throws -> Following

  var result: Following.Result? {
    if case .following(let stage) = state { stage.result } else { nil }
  }

  @concurrent func next() async throws -> Self {
    switch state {
    case .first(let stage):
      try await stage.compose(
        transformNext: { Self(state: .first($0), transform: transform) },
        transformResult: { Self(state: .following(try await transform($0)), transform: transform) }
      )
    case .following(let stage):
      Self(state: .following(try await stage.next()), transform: transform)
    }
  }

  var description: String {
    switch state {
    case .first(let stage): "first(\(stage))"
    case .following(let stage): "following(\(stage))"
    }
  }
}
