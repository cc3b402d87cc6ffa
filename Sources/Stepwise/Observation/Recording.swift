// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How one run, a chain nested in it, or a part of it that may be abandoned writes to the record.
struct Recording: Sendable {
  let recorder: RunRecorder
  /// Nil for the run that has the record.
  private let part: Part?

  /// What a nested chain or an abandoned part has of its own.
  private final class Part: Sendable {
    /// The number of its entry.
    let entry: Int
    let watch: RunWatch?
    /// Returns whether the run still awaits the work; checked inside the record's lock.
    let isAwaited: (@Sendable () -> Bool)?
    /// A linked list; nested closures would exhaust the stack when thousands of parts are nested.
    let outer: Part?

    init(_ entry: Int, _ watch: RunWatch?, isAwaited: (@Sendable () -> Bool)? = nil, in outer: Part?) {
      self.entry = entry
      self.watch = watch
      self.isAwaited = isAwaited
      self.outer = outer
    }

    var isOpen: Bool {
      sequence(first: self, next: \.outer).allSatisfy { $0.isAwaited?() ?? true }
    }
  }

  private init(_ recorder: RunRecorder, _ part: Part?) {
    self.recorder = recorder
    self.part = part
  }

  /// The number of the entry of the run.
  private var entry: Int { part?.entry ?? 0 }
  private var watch: RunWatch? { part == nil ? recorder.watch : part?.watch }
  private var observers: [any RunObserver] { watch?.observers ?? [] }
  private var isOpen: Bool { part?.isOpen ?? true }

  private func now(_ instant: ContinuousClock.Instant? = nil) -> Duration { RunRecorder.now(recorder.watch, instant) }

  /// Changes the record, unless the run no longer awaits this work, and calls the observers.
  @discardableResult
  private func change<Result: Sendable>(
    _ body: (inout Broadcast<RunRecorder.State, RunRecorder.Key>.Content, inout [RunRecord.Entry]) -> Result?
  ) -> Result? {
    recorder.change { content, dropped in isOpen ? body(&content, &dropped) : nil }
  }

  // MARK: - Runs

  /// Begins the record of a run that is no step of a recorded one.
  init(_ recorder: RunRecorder, of chain: ChainSummary) {
    self.init(recorder, nil)
    start(chain, .none, recorder.steps, recorder.watch, in: -1, at: recorder.created)
  }

  /// Returns the recording of a chain that is a step of this run.
  ///
  /// - Parameters:
  ///   - chain: The chain.
  ///   - nesting: What it is to this run.
  ///   - firstStep: The index of its first step.
  /// - Returns: The recording.
  func nested(_ chain: ChainSummary, _ nesting: RunRecord.Nesting, firstStep: Int) -> Recording {
    var watch: RunWatch?
    let own = chain.identity?.observers ?? []
    if let outer = self.watch {
      watch = RunWatch(chain, outer.observers + own, in: outer.scope)
    } else if !own.isEmpty {
      watch = RunWatch(chain, own, in: ObservationScope())
    }
    let steps = firstStep..<firstStep + chain.stepCount
    let number = start(chain, nesting, steps, watch, in: entry, at: now())
    return Recording(recorder, Part(number ?? -1, watch, in: part))
  }

  /// Adds the entry of a run, and calls its observers when it begins.
  @discardableResult
  private func start(
    _ chain: ChainSummary,
    _ nesting: RunRecord.Nesting,
    _ steps: Range<Int>,
    _ watch: RunWatch?,
    in parent: Int,
    at time: Duration
  ) -> Int? {
    let kind = RunRecord.Kind.run(name: chain.identity?.name, nesting, steps: steps, id: watch?.run.id)
    return recorder.change(isCalling: false, afterMarks: parent >= 0) { content, dropped in
      guard isOpen else { return nil }
      if let watch { content.state.call(watch.observers) { $0.runStarted(watch.run) } }
      return content.state.record.add(kind, in: parent, at: time, dropping: &dropped)
    }
  }

  /// The observers of the runs that are started in this one; nil without any.
  var scope: ObservationScope? { watch?.scope }

  /// Notifies the observers that the run has started, if nothing has notified them yet.
  func enter() { if watch != nil { recorder.callObservers() } }

  /// Records the outcome of a run, after its handlers.
  ///
  /// - Parameters:
  ///   - outcome: The outcome.
  ///   - source: Through what it was cancelled.
  ///   - value: Returns its value, for observers.
  func leave(_ outcome: Outcome<Void>, through source: String?, value: () -> any Sendable) {
    let time = now()
    let state: RunRecord.State =
      switch outcome {
      case .resolved: .succeeded
      case .failed(let error): .failed(.error(error))
      case .cancelled(let cancellation): .cancelled(source: source, reason: cancellation.reason)
      }
    let chainState = watch.map { _ in outcome.map(value) }
    recorder.change(afterMarks: part != nil) { content, _ -> Void? in
      guard let begun = content.state.record[entry]?.begun else { return nil }
      _ = content.state.record.end(entry, as: state, at: time)
      guard let watch, let chainState else { return nil }
      content.state.call(watch.observers) { $0.runEnded(watch.run, duration: time - begun, outcome: chainState) }
      return ()
    }
  }

  /// Returns a recording for work that the run may abandon; it ignores what that work does afterwards.
  func recording(while isAwaited: @escaping @Sendable () -> Bool) -> Recording {
    Recording(recorder, Part(entry, watch, isAwaited: isAwaited, in: part))
  }

  // MARK: - Steps

  /// Begins a planned step.
  ///
  /// - Parameters:
  ///   - index: The index of the step.
  ///   - instant: The current time.
  /// - Returns: The number of its entry.
  @inline(never)
  func begin(_ index: Int, at instant: ContinuousClock.Instant) -> Int {
    let time = now(instant)
    if part == nil, let number = recorder.mark(index, isEnd: false, at: time) { return number }
    let number = change { content, dropped in
      let number = content.state.record.beginStep(index, in: entry, at: time, dropping: &dropped)
      begun(number, &content)
      return number
    }
    return number ?? -1
  }

  /// Begins a step within a step.
  ///
  /// - Parameters:
  ///   - name: The name of the step.
  ///   - outer: The number of the entry of the step around it.
  /// - Returns: The number of its entry.
  func begin(_ name: String, in outer: Int) -> Int {
    let time = now()
    let number = change { content, dropped -> Int? in
      guard case .step(let index, _)? = content.state.record[outer]?.kind else { return nil }
      let kind = RunRecord.Kind.step(index: index, inner: name)
      let number = content.state.record.add(kind, in: outer, at: time, dropping: &dropped)
      begun(number, &content)
      return number
    }
    return number ?? -1
  }

  private func begun(_ number: Int, _ content: inout Broadcast<RunRecorder.State, RunRecorder.Key>.Content) {
    if content.isObserved {
      content.publish(.begun(number))
      content.publish(.overall)
    }
    guard let watch, !watch.observers.isEmpty, let entry = content.state.record[number],
      case .step(let index, let inner) = entry.kind
    else { return }
    let step = inner.map { ChainStep(index: index, name: $0) } ?? recorder.step(index)
    let observed = ObservedStep(run: watch.run, step: step, attempt: entry.attempt)
    content.state.active[number] = (observed, watch.observers)
    content.state.call(watch.observers) { $0.stepStarted(observed) }
  }

  /// Ends a step.
  @inline(never)
  func finish(_ number: Int, error: (any Error)? = nil, at instant: ContinuousClock.Instant = .now) {
    let time = now(instant)
    if part == nil, error == nil, recorder.mark(recorder.markedStep(number), isEnd: true, at: time) != nil { return }
    let state: RunRecord.State =
      switch error {
      case nil: .succeeded
      case is CancellationError: .cancelled(source: nil, reason: nil)
      case let error?: .failed(.error(error))
      }
    change { content, _ -> Void? in end(number, as: state, error, at: time, &content) }
  }

  private func end(
    _ number: Int,
    as state: RunRecord.State,
    _ error: (any Error)?,
    at time: Duration,
    _ content: inout Broadcast<RunRecorder.State, RunRecorder.Key>.Content
  ) {
    let begun = content.state.record[number]?.begun ?? time
    guard content.state.record.end(number, as: state, at: time) else { return }
    publish(number, &content)
    guard let (step, observers) = content.state.active.removeValue(forKey: number) else { return }
    if case .replayed = state { content.state.call(observers) { $0.stepReplayed(step) } }
    content.state.call(observers) { $0.stepFinished(step, duration: time - begun, error: error) }
  }

  private func publish(_ number: Int, _ content: inout Broadcast<RunRecorder.State, RunRecorder.Key>.Content) {
    if content.isObserved {
      content.publish(.latest(number))
      content.publish(.overall)
    }
    guard let watch = recorder.watch, !watch.observers.isEmpty else { return }
    let progress = recorder.progress(of: content.state.record)
    content.state.call(watch.observers) { $0.runProgressed(watch.run, progress: progress) }
  }

  /// Ends what is running when the run abandons some steps.
  ///
  /// - Parameters:
  ///   - steps: The indices of the steps.
  ///   - error: What takes their place.
  func abandon(_ steps: Range<Int>, error: any Error) {
    let time = now()
    change { content, dropped -> Void? in
      for entry in content.state.record.active(in: steps) where entry.number > self.entry {
        end(entry.number, as: .abandoned, error, at: time, &content)
      }
      _ = content.state.record.add(.abandoned, in: self.entry, .succeeded, at: time, dropping: &dropped)
      return ()
    }
  }

  /// The time limit of some steps has ended them.
  func timedOut(_ steps: Range<Int>, error: any Error) {
    guard error is TimeoutError else { return }
    let time = now()
    change { content, dropped -> Void? in
      for number in content.state.record.timeOut(steps) { publish(number, &content) }
      _ = content.state.record.add(.timedOut, in: entry, .succeeded, at: time, dropping: &dropped)
      return ()
    }
  }

  /// The stored value of a step was returned instead of running its body.
  func replayed(_ number: Int) {
    let time = now()
    change { content, _ -> Void? in end(number, as: .replayed, nil, at: time, &content) }
  }

  /// The error of a step was replaced with a value.
  func recovered() {
    let time = now()
    change { content, dropped in
      content.state.record.add(.recovered, in: entry, .succeeded, at: time, dropping: &dropped)
    }
  }

  /// A completed step was undone.
  ///
  /// - Parameters:
  ///   - number: The number of its entry.
  ///   - step: The step.
  ///   - error: The error of its undo.
  func undone(_ number: Int, _ step: ChainStep, error: (any Error)?) {
    let time = now()
    let failure = error.map { RunRecord.Failure.error($0) }
    change { content, dropped -> Void? in
      let attempt = content.state.record[number]?.attempt ?? 1
      if content.state.record.undo(number, failure) { publish(number, &content) }
      _ = content.state.record.add(.undone(step, failure), in: entry, .succeeded, at: time, dropping: &dropped)
      guard let watch else { return nil }
      let observed = ObservedStep(run: watch.run, step: step, attempt: attempt)
      content.state.call(watch.observers) { $0.stepUndone(observed, error: error) }
      return ()
    }
  }

  func report(_ number: Int, _ fraction: Double) {
    let fraction = min(max(fraction.isNaN ? 0 : fraction, 0), 1)
    change { content, dropped -> Void? in
      if content.state.record.set(number, to: .progress(fraction), dropping: &dropped) { publish(number, &content) }
      return ()
    }
  }

  func reached(_ number: Int, stage: any Sendable) {
    change { content, dropped -> Void? in
      guard content.state.record.set(number, to: .stage(stage), dropping: &dropped) else { return nil }
      if content.isObserved { content.publish(.latest(number)) }
      return ()
    }
  }

  /// The steps are retried after a failure at a planned step.
  func retrying(step index: Int, attempt: Int, after error: any Error) {
    let time = now()
    change { content, dropped -> Void? in
      let number = content.state.record.number(ofStep: index)
      retrying(number, in: entry, attempt, error, at: time, &content, &dropped)
      return ()
    }
  }

  /// A step retries itself.
  func retrying(_ number: Int, attempt: Int, after error: any Error) {
    let time = now()
    change { content, dropped -> Void? in
      retrying(number, in: number, attempt, error, at: time, &content, &dropped)
      return ()
    }
  }

  private func retrying(
    _ number: Int,
    in parent: Int,
    _ attempt: Int,
    _ error: any Error,
    at time: Duration,
    _ content: inout Broadcast<RunRecorder.State, RunRecorder.Key>.Content,
    _ dropped: inout [RunRecord.Entry]
  ) {
    let note = RunRecord.Kind.attemptFailed(attempt: attempt - 1, failure(error))
    _ = content.state.record.add(note, in: parent, .succeeded, at: time, dropping: &dropped)
    content.state.record.retry(number, attempt: attempt)
    publish(number, &content)
    guard let watch, let entry = content.state.record[number], case .step(let index, let inner) = entry.kind else {
      return
    }
    let step = inner.map { ChainStep(index: index, name: $0) } ?? recorder.step(index)
    let active = content.state.active[number]
    let observed = active?.step ?? ObservedStep(run: watch.run, step: step, attempt: entry.attempt)
    content.state.call(active?.observers ?? watch.observers) {
      $0.attemptFailed(observed, attempt: attempt - 1, error: error)
    }
  }

  /// An error as it is stored for as long as the record.
  private func failure(_ error: any Error) -> RunRecord.Failure {
    recorder.watch?.scope.isTraced ?? false ? .error(error) : .type(type(of: error))
  }
}

/// One recorded step, or one element of it, as code inside sees it.
package struct RecordedStep: Sendable {
  let recording: Recording
  let number: Int
  /// Receives the progress of an element.
  private var reportShare: (@Sendable (Double) -> Void)?

  init(recording: Recording, number: Int) {
    self.recording = recording
    self.number = number
  }

  /// Reports the completed fraction, from 0 to 1.
  package func report(_ fraction: Double) {
    if let reportShare { reportShare(fraction) } else { recording.report(number, fraction) }
  }

  /// Reports that the step is about to be retried; `attempt` counts the first attempt.
  func retrying(attempt: Int, after error: any Error) { recording.retrying(number, attempt: attempt, after: error) }

  /// Begins to record a step inside this one.
  func begin(_ name: String) -> RecordedStep {
    RecordedStep(recording: recording, number: recording.begin(name, in: number))
  }

  func finish(error: (any Error)? = nil) { recording.finish(number, error: error) }

  /// Returns the step for one of its elements, whose progress a closure receives.
  func element(report: @escaping @Sendable (Double) -> Void) -> RecordedStep {
    var element = self
    element.reportShare = report
    return element
  }

  /// Returns the step for work that it may abandon; it ignores what that work reports afterwards.
  func reporting(while isOpen: @escaping @Sendable () -> Bool) -> RecordedStep {
    var step = RecordedStep(recording: recording.recording(while: isOpen), number: number)
    if let reportShare { step.reportShare = { fraction in if isOpen() { reportShare(fraction) } } }
    return step
  }
}
