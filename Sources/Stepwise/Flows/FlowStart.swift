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

  /// The answers, unless those that remain belong to the enclosing flow.
  var ownReplay: FlowReplay? { replay === context?.around?.replay ? nil : replay }
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
