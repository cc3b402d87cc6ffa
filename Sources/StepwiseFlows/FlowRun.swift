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
  /// The screens that the user may leave.
  let visits = FlowVisits()
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
  /// Whether the body has ended, after which a cancellation comes too late.
  private var isOver = false
  /// Whether a step was presented because the log had no answer for it.
  private var isLive = false
  private var token: CancellationToken?
  /// The cancelled run that has to end before this one begins.
  private var predecessor: FlowRun?
  /// Settled when the body has begun, or is not going to.
  private let begun = Once<Void>()
  private let ended = Once<Void>()
  private let cancelled = Once<Void>()
  /// The presentations of the steps on the path whose screens the user may leave.
  private var screens: [AnyFlowStep: [FlowVisit]] = [:]
  /// The steps that code went back over.
  private var skipped: Set<AnyFlowStep> = []
  /// The steps that left the path when the flow ended, newest first.
  private var leaving: [AnyFlowStep] = []
  /// Whether the presentation in flight finishes although the user has left.
  private var isFinishing = false

  init(_ definition: FlowDefinition, after predecessor: FlowRun? = nil) {
    self.definition = definition
    self.predecessor = predecessor
    taken = predecessor?.taken ?? []
    course = FlowCourse(definition)
  }

  var isReady: Bool { if case .ready = phase { true } else { false } }
  var isRunning: Bool { if case .running = phase { true } else { false } }
  /// Whether the run is on its way to its end, for which another one may wait.
  var isEnding: Bool { isOver || cancelled.settled != nil || token?.isCancelled ?? false }
  /// Settled once the run can be seen to be cancelled, while it cannot.
  var unbegun: Once<Void>? { isRunning && begun.settled == nil ? begun : nil }
  /// How long to wait for a navigator that dismisses a screen.
  var limit: FlowDismissalLimit { definition.limit ?? context.run?.limit ?? .standard }
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
    let cancelled = cancelled
    let chain = Chain<Void, Output>(definition.name) { @MainActor in
      defer { self.isOver = true }
      return try await withTaskCancellationHandler {
        self.begun.settle(())
        // The screens of the old run disappear first.
        await self.waitForPredecessor()
        try Task.checkCancellation()
        try self.course.prepare()
        prepare()
        return try await self.perform()
      } onCancel: {
        cancelled.settle(())
      }
    }
    .finally { @MainActor state in
      // A body that has not begun will not: the run was cancelled before.
      if self.begun.settled == nil { cancelled.settle(()) }
      self.begun.settle(())
      await self.waitForPredecessor()
      self.finish(state)
      self.ended.settle(())
    }
    // Accessing the token lets a step cancel the run, and makes each cancellation interrupt it immediately.
    token = chain.cancellationToken
    return chain
  }

  private func waitForPredecessor() async {
    await predecessor?.ended.valueIgnoringCancellation()
    predecessor = nil
  }

  private func perform<Output: Sendable>() async throws -> Output {
    isPrepared = true
    events.record(.started)
    if let place = context.previous.take(), let first = course.path.top { shown[first] = place }
    var turns = 0
    while let step = course.path.top {
      let end: FlowEnd?
      if isLive, let count = leftCount {
        try Task.checkCancellation()
        end = try goBack(over: count)
      } else {
        let entry = try await entry(of: step)
        turns += 1
        // A flow whose steps never suspend would block the main actor. Yield here, and not between the choice of the next
        // step and its presentation, because another flow might present the step in between.
        if turns.isMultiple(of: 64) { await Task.yield() }
        end = try follow(entry, of: step)
      }
      guard let end else {
        if isLive { try await save() }
        continue
      }
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
      var replayed = FlowLogEntry(step: step.name, content: step.savedContent, end: end, inside: entry.inside)
      replayed.leaving = entry.leaving
      return replayed
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
      of: step,
      in: self,
      previous: step.isFlow ? shown.removeValue(forKey: step) : shown[step],
      replay: replay,
      sharesReplay: replay === context.replay
    )
    self.presentation = presentation
    isFinishing = false
    // The new screen takes the place of the old one.
    close(step)
    let end: FlowEnd
    if let failure = step.open() {
      end = failure
    } else {
      // Leaving a screen cancels the presentation, not the run.
      let task = spawn { @MainActor in await step.perform(in: presentation) }
      visits.begin(task)
      if leftCount != nil { task.cancel() }
      end = await withTaskCancellationHandler {
        await task.value
      } onCancel: {
        task.cancel()
      }
      visits.end()
    }
    self.presentation = nil
    screens[step] = presentation.visits
    if isEffective(end, of: step) { events.record(FlowEvent(end, of: step.name)) }
    shown[step] = presentation.shown ?? presentation.previous
    if let failure = replay?.failure { throw failure }
    return FlowLogEntry(step: step.name, content: step.savedContent, end: end, inside: presentation.nestedLog?())
  }

  /// Follows the transition after a step; returns the end of the flow if it ends there.
  private func follow(_ entry: FlowLogEntry, of step: AnyFlowStep) throws -> FlowEnd? {
    guard let end = entry.end else { return nil }
    let count = isLive ? leftCount ?? (end.isBack ? 1 : nil) : nil
    let isAnswered = if case .answered = end { true } else { false }
    // Cancelling the task cancelled the run, so the transition of the step is ignored.
    if Task.isCancelled, count != nil || !isAnswered {
      interrupted = entry.inProgress
      throw CancellationError()
    }
    if let count {
      if isEffective(end, of: step), let final = course.end(after: step, end) {
        course.follow(.end(final), by: entry)
        return try conclude(.end(final), after: step, by: entry, [])
      }
      return try goBack(over: count, from: entry)
    }
    let move = course.move(after: step, end)
    let left = course.follow(move, by: entry)
    let result = try conclude(move, after: step, by: entry, left)
    // Going back skips work, unless the log has what followed.
    if case .back = move, let top = course.path.top, top.isWork, context.replay?.entries.first?.step != top.name {
      return try goBack(over: 0)
    }
    return result
  }

  /// Goes back over the newest steps; returns the end of the flow if it ends.
  private func goBack(over count: Int, from ended: FlowLogEntry? = nil) throws -> FlowEnd? {
    guard let first = course.path.top else { return nil }
    course.path.steps.suffix(count).forEach(close)
    let (move, from, left, entry) = course.goBack(over: count) { step in
      events.record(.unanswered(step: step.name, .back))
      let inside = step == first ? ended?.inside : nil
      return FlowLogEntry(step: step.name, content: step.savedContent, end: .ended(.back), inside: inside)
    }
    skipped = []
    return try conclude(move, after: from ?? first, by: entry ?? ended, left)
  }

  /// Removes the screens of the steps that left the path; returns the end of the flow if it ends.
  private func conclude(
    _ move: FlowMove,
    after step: AnyFlowStep,
    by entry: FlowLogEntry?,
    _ left: [AnyFlowStep]
  ) throws -> FlowEnd? {
    if case .end(let end) = move {
      if let first = left.last {
        leave(left.dropLast(), to: first)
        leaving = [first]
      }
      if !context.sharesReplay, let replay = context.replay, let rest = replay.entries.first {
        let failure = wrongStep(rest, at: step)
        replay.failure = failure
        throw failure
      }
      if case .answered = end {
        take(FlowTurn(from: step, to: nil))
      } else if !definition.logging.keepsAll, course.path.top != nil {
        interrupted = entry?.inProgress
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

  /// Saves the answers: those of the enclosing flows first.
  private func save() async throws {
    if let outer = context.run, context.step == outer.course.path.top, outer.isLive { try await outer.save() }
    guard let save = definition.save, let next = course.path.top else { return }
    // Another flow must not take the step now.
    next.isReserved = true
    defer { next.isReserved = false }
    try await save(log)
    try Task.checkCancellation()
  }

  private func take(_ turn: FlowTurn) { if !taken.contains(turn) { taken.append(turn) } }

  private func wrongStep(_ entry: FlowLogEntry, at step: AnyFlowStep) -> FlowError {
    FlowError(.wrongStep, step: step.name, detail: "there is an answer of “\(entry.step)”")
  }

  // MARK: - Going back

  /// The number of steps from the lowest one whose screen the user has left to the current one; nil without such a step.
  private var leftCount: Int? {
    let steps = course.path.steps
    let lowest = steps.firstIndex { step in
      let visits = (screens[step] ?? []) + (step == steps.last ? presentation?.visits ?? [] : [])
      return skipped.contains(step) || visits.contains(where: \.isLeft)
    }
    return lowest.map { steps.count - $0 }
  }

  /// Whether the end of a presentation has an effect, and is not replaced by going back.
  private func isEffective(_ end: FlowEnd, of step: AnyFlowStep) -> Bool {
    guard isLive else { return true }
    guard let count = leftCount else { return !end.isBack }
    guard case .answered = end else { return isFinishing && !end.isBack }
    // Of a step whose screen the user has left after the result, the result came first.
    return isFinishing || count == 1
  }

  func goBack(to step: AnyFlowStep) -> Bool {
    guard isRunning, !isEnding, let index = course.path.steps.firstIndex(of: step) else { return false }
    if let above = course.path.steps.dropFirst(index + 1).first {
      skipped.insert(above)
      visits.interrupt()
    }
    return true
  }

  /// Lets the presentation in flight finish although the user leaves, until `release()`.
  func hold() {
    isFinishing = true
    if visits.hold(1) == 1 { setBackAllowed(false) }
    context.run?.hold()
  }

  func release(of inner: FlowRun? = nil) {
    let isLeft = leftCount != nil
    if inner != nil, !isLeft { isFinishing = false }
    if visits.hold(-1) == 0 {
      setBackAllowed(true)
      // The work itself has ended, and so has its presentation, unless other steps are presented with it.
      if isLeft { visits.interrupt() }
    }
    context.run?.release(of: self)
  }

  private func setBackAllowed(_ isAllowed: Bool) {
    var told: [any FlowNavigator] = []
    for case let navigator? in course.path.steps.map({ shown[$0]?.place?.navigator })
    where !told.contains(where: { $0 === navigator }) {
      told.append(navigator)
      navigator.setBackAllowed(isAllowed)
    }
  }

  // MARK: - Screens

  /// Returns the newest place below a step on a navigator's stack, also in the enclosing flows.
  func place(below step: AnyFlowStep, on navigator: AnyObject) -> FlowShown.Place? {
    let lower = course.path.steps.prefix { $0 != step }.reversed()
    return lower.lazy.compactMap { self.shown[$0]?.place(on: navigator) }.first
      ?? context.step.flatMap { context.run?.place(below: $0, on: navigator) }
  }

  /// Closes the visits of a step, because its screen is to be removed or replaced.
  private func close(_ step: AnyFlowStep) { screens.removeValue(forKey: step)?.forEach { $0.close() } }

  /// Restores the screens of the earlier steps that the log answered, with their latest contents.
  private func goLive() throws {
    guard !isLive else { return }
    isLive = true
    try context.run?.goLive()
    if let replay = context.replay, !context.sharesReplay {
      for step in course.path.steps where step.isFree {
        if let content = replay.contents[step.name] { try step.restore(content) }
      }
    }
    // The current step takes the place of its predecessor, unless it has no place for its screen.
    for step in course.path.steps where step != course.path.top || !step.isStacked {
      shown[step]?.restore(of: step, in: self)
      screens[step] = shown[step]?.place?.visit.map { [$0] }
    }
  }

  /// Removes the screens of steps that left the path, newest first.
  private func leave(_ steps: some RandomAccessCollection<AnyFlowStep>, to next: AnyFlowStep) {
    steps.forEach(close)
    for (index, step) in steps.enumerated() {
      let lower = (Array(steps.dropFirst(index + 1)) + [next]).compactMap { shown[$0] }
      shown.removeValue(forKey: step)?.leave(to: lower)
    }
  }

  /// Removes the screens at the end of every run, newest first.
  private func finish(_ state: ChainState) {
    phase = .over(log)
    let places = (leaving + course.path.steps.reversed()).compactMap { shown[$0] }
    let staying = places.compactMap { $0.place?.staysAtEnd == true ? $0.place?.visit : nil }
    for visit in screens.values.joined() where !staying.contains(where: { $0 === visit }) { visit.close() }
    for (index, place) in places.enumerated() {
      if let rest = place.finish(above: places.dropFirst(index + 1)) { context.shown = rest }
    }
    for visit in staying {
      if let outer = context.run, visit === context.shown?.place?.visit {
        visit.move(to: outer.visits)
        context.visits.append(visit)
      } else {
        visit.close()
      }
    }
    shown = [:]
    screens = [:]
    leaving = []
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
