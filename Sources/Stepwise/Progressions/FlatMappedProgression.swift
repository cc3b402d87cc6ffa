// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A progression followed by another one that is created from its result; see ``Progression/flatMap(_:)``.
public struct FlatMappedProgression<Base: Progression, Following: Progression>: Progression {
  /// The result of the following progression.
  public typealias Result = Following.Result

  /// The state of the progression.
  public enum State: Sendable {
    /// The first progression is at this stage; its last stage holds the result.
    case first(Base)
    /// The following progression is at this stage.
    case following(Following)
  }

  /// The current state.
  public let state: State
  let transform: nonisolated(nonsending) @Sendable (Base.Result) async throws -> Following

  /// The result of the following progression; nil before its last stage.
  public var result: Following.Result? {
    if case .following(let stage) = state { stage.result } else { nil }
  }

  /// Does the work of the current stage, or creates the first stage of the following progression.
  @concurrent public func next() async throws -> Self {
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
}

extension FlatMappedProgression: CustomStringConvertible {
  /// A textual representation of the state.
  public var description: String {
    switch state {
    case .first(let stage): "first(\(stage))"
    case .following(let stage): "following(\(stage))"
    }
  }
}
