// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a run starts.
@MainActor
struct FlowStart {
  var step: AnyFlowStep?
  var prepare: (@MainActor () -> Void)?
  var replay: FlowReplay?
  /// The context of the presentation, when the run is a step of another flow.
  var context: FlowPresentationContext?

  /// Whether the answers that remain belong to the enclosing flow.
  var isReplayShared: Bool { replay != nil && replay === context?.around?.replay }
}

/// The answers of a log that remain.
@MainActor
final class FlowReplay {
  var entries: ArraySlice<FlowLogEntry>
  let contents: [String: FlowContent]
  /// Why the log cannot be replayed.
  var failure: FlowError?

  init(_ log: FlowLog) {
    entries = log.entries[...]
    contents = log.contents
  }
}

/// A run of a flow with its output type erased, as the presentation of a step uses it.
@MainActor
protocol AnyFlowRun: AnyObject {
  var log: FlowLog { get }
  var replay: FlowReplay? { get }

  /// Called before the first step is presented that the log has no answer for.
  func goLive() throws
}
