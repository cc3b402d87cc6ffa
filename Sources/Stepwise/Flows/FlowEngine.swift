// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs a flow once: asks step after step.
@MainActor
final class FlowEngine<Output: Sendable> {
  private let flow: Flow<Output>
  private let recorder: FlowRecorder
  private let prepare: @MainActor () -> Void
  private var replayed: ArraySlice<FlowLogEntry>
  /// What the steps on the path show.
  private var shown: [AnyFlowStep: FlowShown] = [:]
  private var turns = 0
  var token: CancellationToken?

  init(_ flow: Flow<Output>, first: AnyFlowStep, _ start: FlowStart) {
    self.flow = flow
    recorder = flow.recorder
    prepare = start.prepare ?? flow.definition.prepareFirst
    replayed = start.answers.entries[...]
  }

  /// - Throws: what the run ends with when that is no output.
  func perform() async throws -> Output {
    try flow.definition.checkNames()
    prepare()
    recorder.start()
    let isReplay = !replayed.isEmpty
    while let step = flow.course?.path.top {
      let stage: FlowStage
      let end: FlowEnd
      if let entry = replayed.popFirst() {
        stage = FlowStage()
        end = try replayedEnd(of: step, entry)
      } else {
        if isReplay { restoreScreens() }
        stage = FlowStage(previous: shown[step])
        end = await ask(step, on: stage)
      }
      if let output = try follow(end, of: step, on: stage) {
        if let rest = replayed.first { throw Self.misfit(rest, at: step) }
        return output
      }
      turns += 1
      // A flow whose steps never wait would let nobody else have the main actor.
      if turns.isMultiple(of: 64) { await Task.yield() }
    }
    throw FlowError(.back, step: flow.name)
  }

  private func ask(_ step: AnyFlowStep, on stage: FlowStage) async -> FlowEnd {
    recorder.ask(step.name)
    let end = await step.askErased(on: stage)
    recorder.finish(step.name, end)
    if let new = stage.shown { shown[step] = new }
    return end
  }

  /// Goes where the ending leads; returns the output when that is the flow's end.
  private func follow(_ end: FlowEnd, of step: AnyFlowStep, on stage: FlowStage) throws -> Output? {
    // What cancelled the Task cancelled the run: whatever the step makes of it leads nowhere any more.
    if Task.isCancelled, case .ended = end { throw CancellationError() }
    guard let turn = try flow.course?.take(end, of: step) else { throw CancellationError() }
    let replacedScreen = turn.isReplacement ? shown.removeValue(forKey: step) : nil
    for left in turn.left { shown.removeValue(forKey: left)?.leave() }
    switch turn.move {
    case .finish(let output):
      flow.taken.insert(from: step, to: nil)
      return output
    case .leave:
      return nil
    case .cancel(let cancellation):
      token?.cancel(reason: cancellation.reason)
      throw CancellationError()
    case .ask:
      guard let next = flow.course?.path.top else { return nil }
      flow.taken.insert(from: step, to: next)
      if let replacedScreen { shown[next] = replacedScreen }
      return nil
    }
  }

  // MARK: - Replaying

  private func replayedEnd(of step: AnyFlowStep, _ entry: FlowLogEntry) throws -> FlowEnd {
    guard entry.step == step.name else {
      guard flow.definition.steps.contains(where: { $0.name == entry.step }) else {
        throw FlowError(.unknownStep, step: entry.step)
      }
      throw Self.misfit(entry, at: step)
    }
    guard step.hasContent else { throw FlowError(.noContent, step: step.name) }
    return entry.end
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
