// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Where a run begins.
@MainActor
struct FlowStart {
  var step: AnyFlowStep?
  var prepare: (@MainActor () -> Void)?
  var replay: FlowReplay?
  /// The presentation that the run is, of a step of another flow.
  var context: FlowPresentationContext?

  /// Whether the answers that are left over are for the flow around.
  var isReplayShared: Bool { replay != nil && replay === context?.around?.replay }
}

/// The answers of a log that are left.
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

/// A run of a flow without its output's type, as the presentation of a step has it.
@MainActor
protocol AnyFlowRun: AnyObject {
  var log: FlowLog { get }
  var replay: FlowReplay? { get }

  /// To be called before the first step is presented whose answer is not in the log.
  func goLive() throws
}
