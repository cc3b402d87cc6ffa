// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// One answer of a ``FlowLog``.
public struct FlowLogEntry: Sendable {
  /// The name of the step that was presented.
  public let step: String

  /// The answers that the step's own flow received; nil for a step that does not run a flow.
  public let inside: FlowLog?

  /// The content of the step when it was answered.
  let content: FlowContent?

  /// Nil for a flow in progress.
  let end: FlowEnd?

  init(step: String, content: FlowContent? = nil, end: FlowEnd?, inside: FlowLog? = nil) {
    self.step = step
    self.content = content
    self.end = end
    self.inside = inside
  }

  /// The result; nil when the step ended without one, is a flow in progress, or when its type is not known before a
  /// replay.
  public var result: (any Sendable)? {
    if case .answered(let box) = end, !(box is Box<FlowStored>) { box.any } else { nil }
  }

  /// How the step ended without a result; nil when it has one, or is a flow in progress.
  public var ending: FlowEnding? {
    if case .ended(let ending) = end { ending } else { nil }
  }

  /// The entry of a flow that ended without a result, converted to one in progress, so that a replay presents the same
  /// step again.
  var inProgress: FlowLogEntry? {
    inside == nil ? nil : FlowLogEntry(step: step, content: content, end: nil, inside: inside)
  }
}
