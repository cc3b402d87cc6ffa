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

/// Runs several progressions one after the other, as one that you can store and resume.
///
/// Its stages are the stages of each progression in turn. Its result holds their results, in order. The first error
/// ends the run; running the last stage again resumes at the progression that failed.
///
/// A checkpoint stores the whole state with each stage, so run many large progressions under an id each.
public enum Serial<P: Progression>: Progression {
  /// The results of the progressions, in order.
  public typealias Result = [P.Result]

  /// No progression has started.
  case start(stages: [P])

  /// One progression is at a stage; the others have completed or have not started.
  case running(remaining: ArraySlice<P>, active: P, completedSoFar: [P.Result])

  /// All have completed.
  case completed([P.Result])

  /// Creates a progression that runs others one after the other.
  public init(_ progressions: some Sequence<P>) {
    self = .start(stages: Array(progressions))
  }

  /// The results, when all progressions have completed.
  public var result: [P.Result]? {
    if case .completed(let results) = self { results } else { nil }
  }

  /// Starts the first progression, does the work of the active stage, or starts the following progression.
  @concurrent public func next() async throws -> Serial {
    switch self {
    case .start(let progressions): Self.after([], remaining: progressions[...])
    case .running(let remaining, let active, let completed):
      if let result = active.result {
        Self.after(completed + [result], remaining: remaining)
      } else {
        .running(remaining: remaining, active: try await active.next(), completedSoFar: completed)
      }
    case .completed: try self.completed()
    }
  }

  private static func after(_ results: [P.Result], remaining: ArraySlice<P>) -> Serial {
    guard let next = remaining.first else { return .completed(results) }
    return .running(remaining: remaining.dropFirst(), active: next, completedSoFar: results)
  }
}

extension Serial: Equatable where P: Equatable, P.Result: Equatable {}
extension Serial: Hashable where P: Hashable, P.Result: Hashable {}

// What the compiler would synthesize if `ArraySlice` were Codable.
extension Serial {
  private enum Case: String, CodingKey { case start, running, completed }
  private enum Label: String, CodingKey { case stages, remaining, active, completedSoFar, values = "_0" }
}

extension Serial: Encodable where P: Encodable, P.Result: Encodable {
  /// Encodes the case and its values.
  public func encode(to encoder: any Encoder) throws {
    var cases = encoder.container(keyedBy: Case.self)
    switch self {
    case .start(let progressions):
      var labels = cases.nestedContainer(keyedBy: Label.self, forKey: .start)
      try labels.encode(progressions, forKey: .stages)
    case .running(let remaining, let active, let completed):
      var labels = cases.nestedContainer(keyedBy: Label.self, forKey: .running)
      try labels.encode(Array(remaining), forKey: .remaining)
      try labels.encode(active, forKey: .active)
      try labels.encode(completed, forKey: .completedSoFar)
    case .completed(let results):
      var labels = cases.nestedContainer(keyedBy: Label.self, forKey: .completed)
      try labels.encode(results, forKey: .values)
    }
  }
}

extension Serial: Decodable where P: Decodable, P.Result: Decodable {
  /// Decodes the case and its values.
  public init(from decoder: any Decoder) throws { try self.init(from: decoder) { try P(from: $0) } }
}

extension Serial where P.Result: Decodable {
  /// Decodes the case and its values, with a closure that decodes each stage from its stored form.
  package init(from decoder: any Decoder, _ stage: (any Decoder) throws -> P) throws {
    let cases = try decoder.container(keyedBy: Case.self)
    func labels(_ name: Case) throws -> KeyedDecodingContainer<Label> {
      try cases.nestedContainer(keyedBy: Label.self, forKey: name)
    }
    func stages(_ list: any UnkeyedDecodingContainer) throws -> [P] {
      var (list, stages): (any UnkeyedDecodingContainer, [P]) = (list, [])
      while !list.isAtEnd { stages.append(try stage(list.superDecoder())) }
      return stages
    }
    switch cases.allKeys.first {
    case .start?:
      self = .start(stages: try stages(labels(.start).nestedUnkeyedContainer(forKey: .stages)))
    case .running?:
      let labels = try labels(.running)
      self = .running(
        remaining: try stages(labels.nestedUnkeyedContainer(forKey: .remaining))[...],
        active: try stage(labels.superDecoder(forKey: .active)),
        completedSoFar: try labels.decode([P.Result].self, forKey: .completedSoFar)
      )
    case .completed?:
      self = .completed(try labels(.completed).decode([P.Result].self, forKey: .values))
    case nil:
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "The value is not a case of Serial.")
      )
    }
  }
}
