// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One answer of a ``FlowLog``.
public struct FlowLogEntry: Sendable {
  /// The name of the step that was asked.
  public let step: String

  package let end: FlowEnd

  package init(step: String, end: FlowEnd) {
    self.step = step
    self.end = end
  }

  /// The answer of a step.
  @MainActor
  public static func answer<Content, Result>(
    _ step: FlowStep<Content, Result>,
    _ result: Result
  ) -> FlowLogEntry {
    FlowLogEntry(step: step.name, end: .answered(FlowBox(result)))
  }

  /// That a step ended without an answer.
  @MainActor
  public static func ended(_ step: AnyFlowStep, _ ending: FlowEnding) -> FlowLogEntry {
    FlowLogEntry(step: step.name, end: .ended(ending))
  }

  /// The result; nil when the step ended without one, or when its type is known only after a replay.
  public var result: (any Sendable)? {
    if case .answered(let box) = end, !(box is FlowBox<FlowStored>) { box.any } else { nil }
  }

  /// How the step ended without a result; nil when it has one.
  public var ending: FlowEnding? {
    if case .ended(let ending) = end { ending } else { nil }
  }
}
