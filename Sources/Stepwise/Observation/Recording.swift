// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The number of an entry in a run's record.
package struct RecordID: Hashable, Sendable {
  private let value: Int32

  /// Returns nil for more entries than 32 bits count, which are not recorded any more.
  init?(_ number: Int) {
    guard let value = Int32(exactly: number), value >= 0 else { return nil }
    self.value = value
  }

  var number: Int { Int(value) }
}

/// How one run, a chain nested in it, or work that may be abandoned writes to the record.
struct Recording: Sendable {
  let recorder: RunRecorder
  /// Nil for the run that has the record.
  private let inner: Nested?

  /// What a nested chain or abandoned work does not share.
  private final class Nested: Sendable {
    /// Nil when the record is full.
    let record: RecordID?
    let watch: RunWatch?
    /// Returns whether the run still awaits the work; checked inside the record's lock.
    let isAwaited: (@Sendable () -> Bool)?
    /// A linked list; nested closures would exhaust the stack when thousands are nested.
    let outer: Nested?

    init(_ record: RecordID?, _ watch: RunWatch?, isAwaited: (@Sendable () -> Bool)? = nil, in outer: Nested?) {
      self.record = record
      self.watch = watch
      self.isAwaited = isAwaited
      self.outer = outer
    }

    var isOpen: Bool { sequence(first: self, next: \.outer).allSatisfy { $0.isAwaited?() ?? true } }
  }

  private init(_ recorder: RunRecorder, _ inner: Nested?) {
    self.recorder = recorder
    self.inner = inner
  }

  /// The number of the run that this writes about; -1 when the record is full.
  private var runNumber: Int { inner.map { $0.record?.number ?? -1 } ?? 0 }
  private var watch: RunWatch? { inner == nil ? recorder.watch : inner?.watch }
  private var observers: [any RunObserver] { watch?.observers ?? [] }
  private var isOpen: Bool { inner?.isOpen ?? true }

  var now: Duration { RunRecorder.now(recorder.watch) }

  /// Changes the record, unless the run no longer awaits this work, and calls the observers.
  private func change<Result: Sendable>(_ body: (inout RunRecorder.Content) -> Result?) -> Result? {
    recorder.change { content in isOpen ? body(&content) : nil }
  }

  private func write(_ body: (inout RunRecorder.Content, Duration) -> Void) {
    let time = now
    _ = change { content -> Void? in body(&content, time) }
  }

  // MARK: - Runs

  /// Begins the record of a run that is no step of a recorded one.
  init(_ recorder: RunRecorder) {
    self.init(recorder, nil)
    guard let watch else { return }
    recorder.change(isCalling: false) { $0.state.call(watch.observers) { $0.runStarted(watch.run) } }
  }

  /// Returns the recording of a chain that is a step of this run, or several.
  func nested(_ chain: ChainSummary, _ nesting: RunRecord.Nesting, firstStep: Int) -> Recording {
    let own = chain.identity.observers
    let isObserved = self.watch != nil || !own.isEmpty
    let watch = isObserved ? RunWatch(chain, observers + own, in: observation ?? ObservationScope()) : nil
    let steps = firstStep..<firstStep + chain.stepCount
    let kind = RunRecord.Kind.run(name: chain.identity.name, nesting, steps: steps, id: watch?.run.id)
    let time = now
    let number = recorder.change(isCalling: false) { content -> Int? in
      guard isOpen else { return nil }
      if let watch { content.state.call(watch.observers) { $0.runStarted(watch.run) } }
      return content.state.record.add(kind, in: runNumber, at: time)
    }
    return Recording(recorder, Nested(number.flatMap(RecordID.init), watch, in: inner))
  }

  /// The observers of the runs that are started in this one; nil without any.
  var observation: ObservationScope? { watch?.scope }

  /// Notifies the observers that the run has started, if nothing has notified them yet.
  func callObservers() { if watch != nil { recorder.callObservers() } }

  /// Records the outcome of a run, after its handlers, and through what it was cancelled.
  func endRun(
    _ outcome: Outcome<Void>,
    through source: @autoclosure () -> String,
    at time: Duration? = nil,
    value: () -> any Sendable
  ) {
    let time = time ?? now
    let state: RunRecord.State =
      switch outcome {
      case .resolved: .succeeded
      case .failed(let error): .failed(.error(error))
      case .cancelled(let cancellation): .cancelled(source: source(), reason: cancellation.reason)
      }
    if inner == nil, recorder.endRun(as: state, at: time) { return }
    let chainState = watch.map { _ in outcome.map(value) }
    recorder.change { content -> Void? in
      guard let begun = content.state.record[runNumber]?.begun else { return nil }
      _ = content.state.record.end(runNumber, as: state, at: time)
      guard let watch, let chainState else { return nil }
      return content.state.call(watch.observers) { $0.runEnded(watch.run, duration: time - begun, outcome: chainState) }
    }
  }

  /// Returns a recording for work that the run may abandon; it ignores what that work does afterwards.
  func recording(while isAwaited: @escaping @Sendable () -> Bool) -> Recording {
    Recording(recorder, Nested(RecordID(runNumber), watch, isAwaited: isAwaited, in: inner))
  }

  // MARK: - Steps

  /// Begins a planned step, and returns its number.
  @inline(never)
  func begin(_ index: Int, at time: Duration) -> RecordID? {
    let number = index - recorder.steps.lowerBound + 1
    if inner == nil, recorder.note(number, isEnd: false, at: time) { return RecordID(number) }
    return begin { $0.beginStep(index, in: runNumber, at: time) }
  }

  /// Begins a step within a step, and returns its number.
  func begin(_ name: String, in outer: RecordID?) -> RecordID? {
    let time = now
    return begin { record in outer.flatMap { record.beginStep(name, in: $0.number, at: time) } }
  }

  private func begin(_ add: (inout RunRecord) -> Int?) -> RecordID? {
    let number = change { content -> Int? in
      guard let number = add(&content.state.record) else { return nil }
      if content.isObserved {
        content.publish(.begun(number))
        content.publish(.overall)
      }
      guard let watch, !watch.observers.isEmpty, let entry = content.state.record[number],
        let step = recorder.step(entry)
      else { return number }
      let observed = ObservedStep(run: watch.run, step: step, attempt: entry.attempt)
      content.state.active[number] = (observed, watch.observers)
      content.state.call(watch.observers) { $0.stepStarted(observed) }
      return number
    }
    return number.flatMap(RecordID.init)
  }

  @inline(never)
  func end(_ record: RecordID?, error: (any Error)? = nil, at time: Duration? = nil) {
    guard let number = record?.number else { return }
    let time = time ?? now
    if inner == nil, error == nil, recorder.note(number, isEnd: true, at: time) { return }
    let state: RunRecord.State =
      switch error {
      case nil: .succeeded
      case is CancellationError: .cancelled(source: nil, reason: nil)
      case let error?: .failed(.error(error))
      }
    _ = change { content -> Void? in end(number, as: state, error, at: time, &content) }
  }

  private func end(
    _ number: Int,
    as state: RunRecord.State,
    _ error: (any Error)?,
    at time: Duration,
    _ content: inout RunRecorder.Content
  ) {
    let begun = content.state.record[number]?.begun ?? time
    guard content.state.record.end(number, as: state, at: time) else { return }
    publish(number, &content)
    for outer in content.state.record.advance(around: number) { publish(outer, &content) }
    guard let (step, observers) = content.state.active.removeValue(forKey: number) else { return }
    if case .replayed = state { content.state.call(observers) { $0.stepReplayed(step) } }
    content.state.call(observers) { $0.stepFinished(step, duration: time - begun, error: error) }
  }

  private func publish(_ number: Int, _ content: inout RunRecorder.Content) {
    if content.isObserved {
      content.publish(.latest(number))
      content.publish(.overall)
    }
    guard let watch = recorder.watch, !watch.observers.isEmpty else { return }
    let progress = recorder.progress(of: content.state.record)
    content.state.call(watch.observers) { $0.runProgressed(watch.run, progress: progress) }
  }

  /// Ends what is running when the run abandons some steps, for an error that takes their place.
  func abandon(_ steps: Range<Int>, error: any Error) {
    write { content, time in
      for entry in content.state.record.active(in: steps) where entry.number > runNumber {
        end(entry.number, as: .abandoned, error, at: time, &content)
      }
      _ = content.state.record.add(.abandoned, in: runNumber, .succeeded, at: time)
    }
  }

  func timedOut(_ steps: Range<Int>, error: any Error) {
    guard error is TimeoutError else { return }
    write { content, time in
      for number in content.state.record.timeOut(steps) { publish(number, &content) }
      _ = content.state.record.add(.timedOut, in: runNumber, .succeeded, at: time)
    }
  }

  /// The stored value of a step was returned instead of running its body.
  func replayed(_ record: RecordID?) {
    guard let number = record?.number else { return }
    write { content, time in end(number, as: .replayed, nil, at: time, &content) }
  }

  /// The error of a step was replaced with a value.
  func recovered() {
    write { content, time in _ = content.state.record.add(.recovered, in: runNumber, .succeeded, at: time) }
  }

  func undone(_ record: RecordID?, _ step: ChainStep, error: (any Error)?) {
    let number = record?.number ?? -1
    let failure = error.map { RunRecord.Failure.error($0) }
    write { content, time in
      let attempt = content.state.record[number]?.attempt ?? 1
      if content.state.record.undo(number, failure) { publish(number, &content) }
      _ = content.state.record.add(.undone(step, failure), in: runNumber, .succeeded, at: time)
      guard let watch else { return }
      let observed = ObservedStep(run: watch.run, step: step, attempt: attempt)
      content.state.call(watch.observers) { $0.stepUndone(observed, error: error) }
    }
  }

  /// Records the progress of a step, which is computed inside the record's lock.
  func report(_ record: RecordID?, _ fraction: () -> Double?) {
    guard let number = record?.number else { return }
    write { content, _ in
      guard var fraction = fraction() else { return }
      fraction = min(max(fraction.isNaN ? 0 : fraction, 0), 1)
      guard content.state.record.set(number, to: .progress(fraction)) else { return }
      publish(number, &content)
      for outer in content.state.record.advance(around: number) { publish(outer, &content) }
    }
  }

  /// The code of a step expects a number of steps within it.
  func expect(_ count: Int, in record: RecordID?) {
    guard let number = record?.number else { return }
    write { content, _ in
      for number in content.state.record.expect(count, in: number) { publish(number, &content) }
    }
  }

  /// The progress of a step: 1 when it has ended.
  func progress(of record: RecordID?) -> Double {
    guard let number = record?.number else { return 0 }
    let fraction = change { content -> Double? in
      switch content.state.record[number]?.state {
      case .progress(let fraction): fraction
      case let state?: state.isActive ? 0 : 1
      case nil: nil
      }
    }
    return fraction ?? 1
  }

  func reached(_ record: RecordID?, stage: any AnyBox) {
    guard let number = record?.number else { return }
    write { content, _ in
      if content.state.record.set(number, to: .stage(stage)), content.isObserved { content.publish(.latest(number)) }
    }
  }

  /// A step, or the steps of the run, are retried after a failure at an entry of the record.
  func retrying(_ step: RecordID? = nil, attempt: Int, after error: any Error, at number: (RunRecord) -> Int) {
    let parent = step?.number ?? runNumber
    let failure: RunRecord.Failure =
      recorder.watch?.scope.isTraced ?? false ? .error(error) : .type(type(of: error))
    write { content, time in
      let number = number(content.state.record)
      _ = content.state.record.add(.attemptFailed(attempt: attempt - 1, failure), in: parent, .succeeded, at: time)
      content.state.record.retry(number, attempt: attempt)
      publish(number, &content)
      guard let watch, let entry = content.state.record[number], let step = recorder.step(entry) else { return }
      let active = content.state.active[number]
      let observed = active?.step ?? ObservedStep(run: watch.run, step: step, attempt: entry.attempt)
      content.state.call(active?.observers ?? watch.observers) {
        $0.attemptFailed(observed, attempt: attempt - 1, error: error)
      }
    }
  }
}

/// One recorded step, or one element of it, as code inside sees it.
package struct RecordedStep: Sendable {
  let recording: Recording
  let id: RecordID?
  /// Of an element, and of what is inside one.
  private let element: Element?

  private struct Element: Sendable {
    let progress: ElementReport
    /// The outermost step inside the element; nil for the element itself.
    var step: RecordID?
  }

  init(recording: Recording, id: RecordID?) { self.init(recording, id, in: nil) }

  private init(_ recording: Recording, _ id: RecordID?, in element: Element?) {
    (self.recording, self.id, self.element) = (recording, id, element)
  }

  package func report(_ fraction: Double) { report { fraction } }

  func report(_ fraction: () -> Double?) {
    guard let element, element.step == nil else {
      recording.report(id, fraction)
      return reportToElement()
    }
    if let fraction = fraction() { element.progress.report(fraction) }
  }

  /// The code here expects a number of steps inside.
  func expect(steps count: Int) {
    guard let element, element.step == nil else {
      recording.expect(count, in: id)
      return reportToElement()
    }
    element.progress.change { $0.count = max(0, count) }
  }

  /// Reports that the step is about to be retried; `attempt` counts the first attempt.
  func retrying(attempt: Int, after error: any Error) {
    recording.retrying(id, attempt: attempt, after: error) { _ in id?.number ?? -1 }
  }

  func begin(_ name: String) -> RecordedStep {
    let id = recording.begin(name, in: id)
    return RecordedStep(recording, id, in: element.map { Element(progress: $0.progress, step: $0.step ?? id) })
  }

  func end(error: (any Error)? = nil) {
    recording.end(id, error: error)
    guard let element, let step = id, step == element.step else { return reportToElement() }
    element.progress.change { $0.end(step.number) }
  }

  /// An element does not know the steps that are recorded inside it.
  private func reportToElement() {
    guard let element, let step = element.step else { return }
    let fraction = recording.progress(of: step)
    element.progress.change { $0.report(step.number, fraction) }
  }

  /// Returns the step for one of its elements, whose progress a closure receives.
  func element(report: @escaping @Sendable (Double) -> Void) -> RecordedStep {
    RecordedStep(recording, id, in: Element(progress: ElementReport(report: report)))
  }
}

/// Where one element of a step reports, directly or by the steps inside it.
private final class ElementReport: Sendable {
  let report: @Sendable (Double) -> Void
  private let expected = Lock(ExpectedSteps())

  init(report: @escaping @Sendable (Double) -> Void) { self.report = report }

  func change(_ change: (inout ExpectedSteps) -> Void) {
    let fraction = expected.withLock { expected in
      change(&expected)
      return expected.next()
    }
    if let fraction { report(fraction) }
  }
}
