// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// One run of a flow: its path, its screens, its events and its log.
@MainActor
final class FlowRun {
  private enum Phase {
    case ready, running
    case over(FlowLog)
  }

  let events = FlowEvents()
  /// The transitions that this run and earlier ones took, in the order in which each was first taken.
  private(set) var taken: [FlowTurn]
  /// The end of the run as its steps determined it.
  private(set) var end: FlowEnd?
  private let definition: FlowDefinition
  private var course: FlowCourse
  private var phase = Phase.ready
  /// The context in which the flow is presented.
  private var context = FlowPresentationContext()
  private var presentation: FlowPresentationContext?
  /// The screens of the steps on the path.
  private var shown: [AnyFlowStep: FlowShown] = [:]
  /// Whether the first step has its content.
  private var isPrepared = false
  /// The entry, as one in progress, of a nested flow that ended this one without a result.
  private var interrupted: FlowLogEntry?
  /// Whether a step was presented because the log had no answer for it.
  private var isLive = false
  private var token: CancellationToken?

  init(_ definition: FlowDefinition, taken: [FlowTurn] = []) {
    self.definition = definition
    self.taken = taken
    course = FlowCourse(definition)
  }

  var isReady: Bool { if case .ready = phase { true } else { false } }
  var isRunning: Bool { if case .running = phase { true } else { false } }
  var path: [AnyFlowStep] { isRunning ? course.path.steps : [] }

  var log: FlowLog {
    switch phase {
    case .ready: return FlowLog()
    case .over(let log): return log
    case .running:
      var entries = course.path.answers
      if let step = course.path.top, let inside = presentation?.nestedLog?() {
        entries.append(FlowLogEntry(step: step.name, content: step.savedContent, end: nil, inside: inside))
      } else if let interrupted {
        entries.append(interrupted)
      }
      var contents: [String: FlowContent] = [:]
      if isPrepared { for step in course.path.steps { contents[step.name] = step.savedContent } }
      return FlowLog(entries, contents: contents)
    }
  }

  // MARK: - Running

  /// Reserves the run for one caller, and returns it as a chain that has not started.
  func begin<Output: Sendable>(
    startingAt start: AnyFlowStep? = nil,
    in context: FlowPresentationContext,
    prepare: @escaping @MainActor () -> Void = {}
  ) -> Chain<Void, Output> {
    phase = .running
    self.context = context
    isLive = context.replay == nil
    course = FlowCourse(definition, startingAt: start)
    let chain = Chain<Void, Output>(definition.name) { @MainActor in
      try self.course.prepare()
      prepare()
      return try await self.perform()
    }
    .finally { @MainActor state in self.finish(state) }
    // Accessing the token lets a step cancel the run, and makes each cancellation interrupt it immediately.
    token = chain.cancellationToken
    return chain
  }

  private func perform<Output: Sendable>() async throws -> Output {
    isPrepared = true
    events.record(.started)
    if let place = context.previous, let first = course.path.top { shown[first] = place }
    var turns = 0
    while let step = course.path.top {
      let entry = try await entry(of: step)
      turns += 1
      // A flow whose steps never suspend would block the main actor. Yield here, and not between the choice of the next
      // step and its presentation, because another flow might present the step in between.
      if turns.isMultiple(of: 64) { await Task.yield() }
      guard let end = try follow(entry, of: step) else { continue }
      self.end = end
      if case .ended(.cancelled(let cancellation)) = end { token?.cancel(reason: cancellation.reason) }
      if case .ended(.back) = end { break }
      return try end.result(of: step.name)
    }
    throw FlowError(.back, step: definition.name)
  }

  /// Returns how a step ended: from the log, or by presenting it.
  private func entry(of step: AnyFlowStep) async throws -> FlowLogEntry {
    guard let replay = context.replay else { return try await present(step) }
    do {
      guard let entry = replay.entries.first else { return try await present(step) }
      try Task.checkCancellation()
      // A log that was written by hand may contain the answers of a nested flow among its own.
      if entry.step != step.name, step.isFlow { return try await present(step, replaying: replay) }
      replay.entries.removeFirst()
      guard entry.step == step.name else {
        let isKnown = (definition.steps + taken.compactMap(\.to)).contains { $0.name == entry.step }
        throw isKnown ? wrongStep(entry, at: step) : FlowError(.unknownStep, step: entry.step)
      }
      if let content = entry.content { try step.restore(content) }
      guard step.hasContent else { throw FlowError(.noContent, step: step.name) }
      if let inside = entry.inside, step.isFlow, entry.ending == nil {
        return try await present(step, replaying: FlowReplay(inside))
      }
      guard var end = entry.end else { throw FlowError(.wrongAnswer, step: step.name, detail: "there is none") }
      if case .answered(let json as Box<JSONValue>) = end {
        end = try json.value.answer(of: step.name, as: step.resultType)
      }
      shown[step] = step.pass(after: shown[step])
      return FlowLogEntry(step: step.name, content: step.savedContent, end: end, inside: entry.inside)
    } catch {
      // The enclosing flow must not treat it as a failure of the step.
      replay.failure = error as? FlowError
      throw error
    }
  }

  private func present(_ step: AnyFlowStep, replaying replay: FlowReplay? = nil) async throws -> FlowLogEntry {
    if replay == nil { try goLive() }
    events.record(.presented(step: step.name))
    let presentation = FlowPresentationContext(
      previous: shown[step],
      replay: replay,
      sharesReplay: replay === context.replay,
      goLive: goLive
    )
    self.presentation = presentation
    let end = await step.present(in: presentation)
    self.presentation = nil
    events.record(FlowEvent(end, of: step.name))
    if let new = presentation.shown { shown[step] = new }
    if let failure = replay?.failure { throw failure }
    return FlowLogEntry(step: step.name, content: step.savedContent, end: end, inside: presentation.nestedLog?())
  }

  /// Follows the transition after a step; returns the end of the flow if it ends there.
  private func follow(_ entry: FlowLogEntry, of step: AnyFlowStep) throws -> FlowEnd? {
    guard let end = entry.end else { return nil }
    // Cancelling the task cancelled the run, so the transition of the step is ignored.
    if Task.isCancelled, case .ended = end {
      interrupted = entry.inProgress
      throw CancellationError()
    }
    let move = course.move(after: step, end)
    let left = course.follow(move, by: entry)
    if case .end(let end) = move {
      if !context.sharesReplay, let replay = context.replay, let rest = replay.entries.first {
        let failure = wrongStep(rest, at: step)
        replay.failure = failure
        throw failure
      }
      if case .answered = end {
        take(FlowTurn(from: step, to: nil))
      } else if !definition.logging.keepsAll, course.path.top != nil {
        interrupted = entry.inProgress
      }
      return end
    }
    if case .present(let next, isReplacing: true, _) = move { shown[next] = shown.removeValue(forKey: step) }
    if let next = course.path.top {
      leave(left, to: next)
      take(FlowTurn(from: step, to: next))
    }
    return nil
  }

  private func take(_ turn: FlowTurn) { if !taken.contains(turn) { taken.append(turn) } }

  private func wrongStep(_ entry: FlowLogEntry, at step: AnyFlowStep) -> FlowError {
    FlowError(.wrongStep, step: step.name, detail: "there is an answer of “\(entry.step)”")
  }

  // MARK: - Screens

  /// Restores the screens of the earlier steps that the log answered, with their latest contents.
  private func goLive() throws {
    guard !isLive else { return }
    isLive = true
    try context.goLive()
    if let replay = context.replay, !context.sharesReplay {
      for step in course.path.steps where step.isFree {
        if let content = replay.contents[step.name] { try step.restore(content) }
      }
    }
    // The current step takes the place of its predecessor, unless it has no place for its screen.
    for step in course.path.steps where step != course.path.top || !step.isStacked { shown[step]?.restore() }
  }

  /// Removes the screens of steps that left the path, newest first.
  private func leave(_ steps: [AnyFlowStep], to next: AnyFlowStep) {
    for (index, step) in steps.enumerated() {
      let lower = (steps.dropFirst(index + 1) + [next]).compactMap { shown[$0] }
      shown.removeValue(forKey: step)?.leave(to: lower)
    }
  }

  /// Removes the screens at the end of every run, newest first.
  private func finish(_ state: ChainState) {
    phase = .over(log)
    // A flow that has gone back from its first step has an empty path, but still the screen of that step.
    let steps = course.path.steps
    let places = steps.isEmpty ? Array(shown.values) : steps.reversed().compactMap { shown[$0] }
    for (index, place) in places.enumerated() {
      if let rest = place.finish(above: places.dropFirst(index + 1)) { context.shown = rest }
    }
    shown = [:]
    context = FlowPresentationContext()
    token = nil
    events.record(.ended(state))
  }
}

/// A transition of a flow.
struct FlowTurn: Equatable {
  let from: AnyFlowStep
  /// Nil for the flow's end.
  let to: AnyFlowStep?
}
