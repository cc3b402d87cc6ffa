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
  /// - Returns: The next stage of the outer progression.
  /// - Throws: What the stage or a transformation throws.
  public func compose<Outer: Progression>(
    transformNext: (Self) async throws -> Outer,
    transformResult: (Result) async throws -> Outer
  ) async throws -> Outer {
    if let result { return try await transformResult(result) }
    return try await transformNext(try await next())
  }

  /// Returns a progression that transforms the result of this one in an additional stage.
  public nonisolated func map<NewResult: Sendable>(
    _ transform: @escaping @Sendable (Result) async throws -> NewResult
  ) -> some Progression<NewResult> {
    flatMap { result in Completed(result: try await transform(result)) }
  }

  /// Returns a progression that runs this one and then another one, created from the result.
  public nonisolated func flatMap<Following: Progression>(
    _ transform: @escaping @Sendable (Result) async throws -> Following
  ) -> some Progression<Following.Result> {
    FlatMappedProgression(state: .first(self), transform: transform)
  }
}

/// The only stage of a progression that holds its result.
private struct Completed<Result: Sendable>: Progression, CustomStringConvertible {
  let result: Result?

  @concurrent func next() async throws -> Self { try completed() }

  var description: String { result.map { "completed(\($0))" } ?? "completed" }
}

/// A progression followed by another one that is created from its result.
private struct FlatMappedProgression<Base: Progression, Following: Progression>: Progression, CustomStringConvertible {
  enum State: Sendable {
    /// The first progression is at this stage; its last stage holds the result.
    case first(Base)
    case following(Following)
  }

  let state: State
  let transform: @Sendable (Base.Result) async throws -> Following

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

/// Runs several progressions one after the other, as one that you can store and resume.
///
/// Use this when your user starts a list of imports and wants one result. Its stages are the stages of each progression
/// in turn. Its result holds their results, in order. The first error ends the run; running the last stage again
/// resumes at the progression that failed.
///
/// A checkpoint stores the whole state with each stage, so run many large progressions under an id each.
public struct Serial<P: Progression>: Progression {
  private enum CodingKeys: CodingKey { case active, remaining, results }

  /// The stage of the progression that is running; nil before the first one and after the last one.
  public private(set) var active: P?

  package private(set) var remaining: [P]
  package private(set) var results: [P.Result] = []

  /// Creates a progression that runs others one after the other.
  public init(_ progressions: some Sequence<P>) {
    remaining = Array(progressions)
  }

  /// The results, when all progressions have completed.
  public var result: [P.Result]? { active == nil && remaining.isEmpty ? results : nil }

  /// Does the work of the active stage, or starts the following progression.
  @concurrent public func next() async throws -> Serial {
    guard result == nil else { return try completed() }
    var stage = self
    if let active, active.result == nil {
      stage.active = try await active.next()
    } else {
      if let result = active?.result { stage.results.append(result) }
      stage.active = stage.remaining.isEmpty ? nil : stage.remaining.removeFirst()
    }
    return stage
  }
}

extension Serial: Equatable where P: Equatable, P.Result: Equatable {}
extension Serial: Encodable where P: Encodable, P.Result: Encodable {}
extension Serial: Decodable where P: Decodable, P.Result: Decodable {}

extension Serial where P.Result: Decodable {
  /// Decodes the state, with a closure that decodes each stage from its stored form.
  package init(from decoder: any Decoder, _ stage: (any Decoder) throws -> P) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    active = values.contains(.active) ? try stage(values.superDecoder(forKey: .active)) : nil
    var stages = try values.nestedUnkeyedContainer(forKey: .remaining)
    remaining = []
    while !stages.isAtEnd { remaining.append(try stage(stages.superDecoder())) }
    results = try values.decode([P.Result].self, forKey: .results)
  }
}
