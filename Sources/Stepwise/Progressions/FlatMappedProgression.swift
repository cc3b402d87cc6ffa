// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A progression that another one follows, made of its result; made by ``Progression/flatMap(_:)``.
public struct FlatMappedProgression<Base: Progression, Following: Progression>: Progression {
  /// What the last stage of the following progression holds.
  public typealias Result = Following.Result

  /// How far it is.
  public enum State: Sendable {
    /// At a stage of the first progression, up to the one with its result.
    case first(Base)
    /// At a stage of the one that follows, its first stage included.
    case following(Following)
  }

  /// How far it is.
  public let state: State
  let transform: nonisolated(nonsending) @Sendable (Base.Result) async throws -> Following

  /// The result of the progression that follows; nil before its last stage.
  public var result: Following.Result? {
    if case .following(let stage) = state { stage.result } else { nil }
  }

  /// Does the work of the stage, or makes the first stage of what follows.
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
  /// The state.
  public var description: String {
    switch state {
    case .first(let stage): "first(\(stage))"
    case .following(let stage): "following(\(stage))"
    }
  }
}

extension FlatMappedProgression: WrappingStage {
  func isUnchanged(since previous: Self) -> Bool? {
    switch (state, previous.state) {
    case (.first(let stage), .first(let earlier)): areEqual(earlier, stage)
    case (.following(let stage), .following(let earlier)): areEqual(earlier, stage)
    case (.first, .following), (.following, .first): false
    }
  }
}
