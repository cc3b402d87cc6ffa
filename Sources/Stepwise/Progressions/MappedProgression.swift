// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A progression that transforms the result of another one in an additional stage; see ``Progression/map(_:)``.
public struct MappedProgression<Base: Progression, NewResult: Sendable>: Progression {
  /// The state of the progression.
  public enum State: Sendable {
    /// The base progression is at this stage; its last stage holds the result to transform.
    case running(Base)
    /// The result has been transformed.
    case completed(NewResult)
  }

  /// The current state.
  public let state: State
  let transform: nonisolated(nonsending) @Sendable (Base.Result) async throws -> NewResult

  /// The transformed result; nil before the last stage.
  public var result: NewResult? {
    if case .completed(let result) = state { result } else { nil }
  }

  /// Does the work of the current stage, or transforms the result.
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
  /// A textual representation of the state.
  public var description: String {
    switch state {
    case .running(let stage): "running(\(stage))"
    case .completed(let result): "completed(\(result))"
    }
  }
}
