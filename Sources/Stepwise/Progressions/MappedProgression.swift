// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A progression whose result is transformed in one stage more; made by ``Progression/map(_:)``.
public struct MappedProgression<Base: Progression, NewResult: Sendable>: Progression {
  /// How far it is.
  public enum State: Sendable {
    /// At a stage of the progression that is transformed, up to the one with its result.
    case running(Base)
    /// At the transformed result.
    case completed(NewResult)
  }

  /// How far it is.
  public let state: State
  let transform: nonisolated(nonsending) @Sendable (Base.Result) async throws -> NewResult

  /// The transformed result; nil before the last stage.
  public var result: NewResult? {
    if case .completed(let result) = state { result } else { nil }
  }

  /// Does the work of the stage, or transforms the result.
  @concurrent public func next() async throws -> Self {
    switch state {
    case .running(let stage):
      try await stage.compose(
        transformNext: { Self(state: .running($0), transform: transform) },
        transformResult: { Self(state: .completed(try await transform($0)), transform: transform) }
      )
    case .completed: try completed()
    }
  }
}

extension MappedProgression: CustomStringConvertible {
  /// The state.
  public var description: String {
    switch state {
    case .running(let stage): "running(\(stage))"
    case .completed(let result): "completed(\(result))"
    }
  }
}

extension MappedProgression: WrappingStage {
  func isUnchanged(since previous: Self) -> Bool? {
    guard case (.running(let stage), .running(let earlier)) = (state, previous.state) else { return false }
    return areEqual(earlier, stage)
  }
}
