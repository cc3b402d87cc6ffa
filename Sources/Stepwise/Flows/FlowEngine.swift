// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs a flow once: asks step after step.
@MainActor
final class FlowEngine<Output: Sendable> {
  private let flow: Flow<Output>
  private let recorder: FlowRecorder
  private let start: FlowStart
  private var replayed: ArraySlice<FlowLogEntry>
  /// What the steps on the path show.
  private var shown: [AnyFlowStep: FlowShown] = [:]
  private var turns = 0
  /// How the flow has ended, where that was as its last step did.
  private(set) var ending: FlowEnding?
  var token: CancellationToken?

  init(_ flow: Flow<Output>, _ start: FlowStart) {
    self.flow = flow
    recorder = flow.recorder
    self.start = start
    replayed = start.answers.entries[...]
  }

  /// - Throws: what the run ends with when that is no output.
  func perform() async throws -> Output {
    try flow.definition.checkNames()
    try flow.definition.prepare(start)
    recorder.start()
    let isReplay = !replayed.isEmpty
    while let step = flow.course?.path.top {
      let end: FlowEnd
      if let entry = replayed.popFirst() {
        try Task.checkCancellation()
        end = try replayedEnd(of: step, entry)
      } else {
        if isReplay { restoreScreens() }
        end = await ask(step)
      }
      turns += 1
      // A flow whose steps never wait would let nobody else have the main actor. Not between the choice of the next step
      // and its ask: somebody else might ask it.
      if turns.isMultiple(of: 64) { await Task.yield() }
      if let output = try follow(end, of: step) { return output }
    }
    throw FlowError(.back, step: flow.name)
  }

  private func ask(_ step: AnyFlowStep) async -> FlowEnd {
    recorder.ask(step.name)
    let stage = FlowStage(previous: shown[step])
    let end = await step.askErased(on: stage)
    recorder.finish(step.name, end)
    if let new = stage.shown { shown[step] = new }
    return end
  }

  /// Goes where the ending leads; returns the output when that is the flow's end.
  private func follow(_ end: FlowEnd, of step: AnyFlowStep) throws -> Output? {
    // What cancelled the Task cancelled the run: whatever the step makes of it leads nowhere any more.
    if Task.isCancelled, case .ended = end { throw CancellationError() }
    guard let turn = try turn(after: step, end) else { throw CancellationError() }
    let replacedScreen = turn.isReplacement ? shown.removeValue(forKey: step) : nil
    for left in turn.left { shown.removeValue(forKey: left)?.leave() }
    switch turn.move {
    case .ask:
      guard let next = flow.course?.path.top else { return nil }
      flow.taken.insert(from: step, to: next)
      if let replacedScreen { shown[next] = replacedScreen }
      return nil
    case .finish(let output):
      try checkNoneIsLeftOver(at: step)
      flow.taken.insert(from: step, to: nil)
      return output
    case .end(let ending):
      try checkNoneIsLeftOver(at: step)
      self.ending = ending
      if case .cancelled(let cancellation) = ending { token?.cancel(reason: cancellation.reason) }
      if case .back = ending { throw FlowError(.back, step: flow.name) }
      throw ending.error(of: step.name)
    }
  }

  /// What is said about the ending is run while nobody has hold of the course, so that it may look at the flow.
  private func turn(after step: AnyFlowStep, _ end: FlowEnd) throws -> FlowCourse<Output>.Turn? {
    let entry = FlowLogEntry(step: step.name, end: end)
    let heading: FlowHeading<Output>
    do {
      heading = try flow.definition.heading(after: step, end)
    } catch {
      flow.course?.fail(by: entry)
      throw error
    }
    return flow.course?.go(heading, by: entry)
  }

  // MARK: - Replaying

  private func replayedEnd(of step: AnyFlowStep, _ entry: FlowLogEntry) throws -> FlowEnd {
    guard entry.step == step.name else {
      guard flow.knownSteps.contains(where: { $0.name == entry.step }) else {
        throw FlowError(.unknownStep, step: entry.step)
      }
      throw Self.misfit(entry, at: step)
    }
    guard step.hasContent else { throw FlowError(.noContent, step: step.name) }
    return try step.typed(entry.end)
  }

  private func checkNoneIsLeftOver(at step: AnyFlowStep) throws {
    if let rest = replayed.first { throw Self.misfit(rest, at: step) }
  }

  private static func misfit(_ entry: FlowLogEntry, at step: AnyFlowStep) -> FlowError {
    FlowError(.wrongStep, step: step.name, detail: "there is an answer of “\(entry.step)”")
  }

  /// Shows what those steps would have shown whose answers came from the log.
  private func restoreScreens() {
    for step in flow.path.dropLast() where shown[step] == nil {
      let stage = FlowStage()
      step.restore(on: stage)
      shown[step] = stage.shown
    }
  }

  // MARK: - The end

  /// The last thing of all, whatever happened: takes the screens away, newest first.
  func end(_ state: ChainState) {
    let steps = flow.path
    for step in steps.reversed() { shown.removeValue(forKey: step)?.leave() }
    for rest in shown.values { rest.leave() }
    shown = [:]
    flow.isRunning = false
    recorder.end(state)
  }
}
