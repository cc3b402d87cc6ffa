// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Stores what happens in a run, and notifies its subscribers.
final class RunRecorder: Sendable {
  typealias Key = RunRecord.Key

  let broadcast: Broadcast<RunRecord, Key>
  private let names: [Int: String]
  /// The index of the first step.
  let firstStep: Int
  let stepCount: Int
  let identity: ChainIdentity?
  let created: Duration
  /// Nil when no observer and no trace needs the run.
  let watch: RunWatch?
  /// Returns whether to record, when the run may abandon the work; checked inside the broadcast's lock.
  let condition: Condition?

  /// A linked list; nested closures would exhaust the stack when thousands of parts are nested.
  final class Condition: Sendable {
    let outer: Condition?
    let holds: @Sendable () -> Bool

    init(outer: Condition?, holds: @escaping @Sendable () -> Bool) {
      self.outer = outer
      self.holds = holds
    }
  }

  /// Creates the recorder of a run that has a handle.
  convenience init(of program: Program) {
    let watch = RunWatch.make(for: program, in: nil, isNested: false)
    let capacity = watch?.logCapacity ?? 0
    let log = RunLog(stepCount: program.stepCount, capacity: capacity > 0 ? capacity : RunLog.defaultCapacity)
    self.init(of: program, firstStep: 0, watch, RunRecord(stepCount: program.stepCount, log: log))
  }

  /// Creates the recorder of a run without a handle.
  convenience init(of program: Program, firstStep: Int, _ watch: RunWatch) {
    let log = RunLog(stepCount: program.stepCount, capacity: watch.logCapacity)
    self.init(of: program, firstStep: firstStep, watch, RunRecord(log: log))
  }

  private init(of program: Program, firstStep: Int, _ watch: RunWatch?, _ record: sending RunRecord) {
    self.watch = watch
    broadcast = Broadcast(record)
    names = program.names
    self.firstStep = firstStep
    stepCount = program.stepCount
    identity = program.identity
    created = Self.now(watch)
    condition = nil
    for collector in watch?.scope.collectors ?? [] { collector.add(self) }
  }

  /// Creates a recorder of the same run for other observers, or for work that the run may abandon.
  init(_ recorder: RunRecorder, watch: RunWatch?, condition: Condition?) {
    broadcast = recorder.broadcast
    names = recorder.names
    firstStep = recorder.firstStep
    stepCount = recorder.stepCount
    identity = recorder.identity
    created = recorder.created
    self.watch = watch
    self.condition = condition
  }

  /// Returns a recorder for work that the run may abandon; it ignores what that work does afterwards.
  func recording(while isOpen: @escaping @Sendable () -> Bool) -> RunRecorder {
    RunRecorder(self, watch: watch, condition: Condition(outer: condition, holds: isOpen))
  }

  var isOpen: Bool {
    var condition = condition
    while let current = condition {
      if !current.holds() { return false }
      condition = current.outer
    }
    return true
  }

  func step(_ index: Int) -> ChainStep { ChainStep(index: index, name: names[index - firstStep]) }

  /// The current time, for the log and for observers.
  ///
  /// - Parameter instant: The current time, where it is known.
  /// - Returns: The time since an origin that all runs on the same clock share.
  func now(_ instant: ContinuousClock.Instant? = nil) -> Duration { Self.now(watch, instant) }

  private static func now(_ watch: RunWatch?, _ instant: ContinuousClock.Instant? = nil) -> Duration {
    watch?.scope.clock?() ?? RunLog.time(of: instant ?? .now)
  }

  func failure(_ error: any Error) -> RunLog.Failure {
    isTraced ? .error(error) : .type(type(of: error))
  }

  /// Whether a trace needs the run also when its handle is gone.
  var isTraced: Bool { watch?.scope.collectors.contains(where: \.isOpen) ?? false }

  /// Adds to the log and changes the record, while the recorder is open.
  private func record(
    _ event: RunLog.Event? = nil,
    _ index: Int,
    number: Int = 0,
    at time: Duration = .zero,
    _ change: (inout Broadcast<RunRecord, Key>.Content) -> RunRecord.Dropped?
  ) {
    // Values are released outside the lock.
    _ = broadcast.update { content -> RunRecord.Dropped? in
      guard isOpen else { return nil }
      let entry = event.flatMap { content.state.log.append($0, step: index, number: number, at: time) }
      var dropped = content.state.isForgotten ? nil : change(&content)
      if let entry { dropped = RunRecord.Dropped(error: dropped?.error, stage: dropped?.stage, entry: entry) }
      return dropped
    }
  }

  /// Adds to the log, while the recorder is open.
  func log(_ event: RunLog.Event, _ index: Int, number: Int = 0, at time: Duration) {
    record(event, index, number: number, at: time) { _ in nil }
  }

  // MARK: - Steps

  /// - Parameters:
  ///   - index: The step.
  ///   - instant: The current time, where it is known.
  @inline(never)
  func begin(_ index: Int, at instant: ContinuousClock.Instant? = nil) {
    let time = now(instant)
    record(.stepStarted, index, at: time) { content in
      let dropped = content.state.begin(index, at: condition == nil ? nil : .now)
      guard content.isObserved else { return dropped }
      content.retract(.latest(index))
      content.publish(.begun(index))
      content.publish(.overall)
      return dropped
    }
    if let watch { watch.signals.begin(step(index), of: watch, at: time) { isOpen } }
  }

  @inline(never)
  func finish(
    _ index: Int,
    after duration: Duration,
    error: (any Error)? = nil,
    at instant: ContinuousClock.Instant? = nil
  ) {
    let time = now(instant)
    set(index, to: .finished(duration), error: error, logging: .stepFinished(error.map(failure)), at: time)
    watch?.signals.finish(index..<index + 1, at: time, error: error) { isOpen }
  }

  /// Ends the steps that are running when the run abandons them.
  ///
  /// - Parameters:
  ///   - steps: The steps that the run abandons.
  ///   - depth: How many runs contain the one that abandons them.
  ///   - error: What takes their place.
  func abandon(_ steps: Range<Int>, at depth: Int, error: any Error) {
    let time = now()
    log(.abandoned(depth: depth), steps.lowerBound, number: steps.count, at: time)
    for (index, duration) in broadcast.update({ $0.state.running(in: steps) }) {
      set(index, to: .finished(duration), error: error)
    }
    watch?.signals.finish(steps, at: time, error: error) { isOpen }
  }

  func undone(_ index: Int, error: (any Error)?) {
    set(index, to: .undone, error: error, logging: .undone(error.map(failure)), at: now())
    if let watch { watch.signals.undo(step(index), of: watch, error: error) { isOpen } }
  }

  func report(_ index: Int, _ fraction: Double) {
    set(index, to: .progress(min(max(fraction.isNaN ? 0 : fraction, 0), 1)))
  }

  func retrying(_ index: Int, attempt: Int, after error: any Error) {
    set(index, to: .retrying(attempt: attempt), logging: .attemptFailed(failure(error)), at: now())
    if let watch { watch.signals.retry(step(index), of: watch, attempt: attempt - 1, error: error) { isOpen } }
  }

  /// The time limit of some steps has ended them.
  func timedOut(_ steps: Range<Int>, error: any Error) {
    if error is TimeoutError { log(.timedOut, steps.lowerBound, number: steps.count, at: now()) }
  }

  /// The error of a step was replaced with a value.
  func recovered(_ index: Int) { log(.recovered, index, at: now()) }

  func reached(_ index: Int, stage: any Sendable) {
    record(nil, index) { content in
      let dropped = content.state.set(index, stage: stage)
      if dropped != nil, content.isObserved { content.publish(.latest(index)) }
      return dropped
    }
  }

  func end(_ outcome: Outcome<any AnyBox>) {
    _ = broadcast.update { content -> Outcome<any AnyBox>? in
      // Released outside the lock when the run is no longer observed.
      guard !content.state.isForgotten else { return outcome }
      content.state.end(outcome)
      content.publish(.overall)
      content.publish(.ended)
      content.finish()
      return nil
    }
  }

  private func set(
    _ index: Int,
    to phase: RunRecord.Phase,
    error: (any Error)? = nil,
    logging event: RunLog.Event? = nil,
    at time: Duration = .zero
  ) {
    var number = 0
    if case .retrying(let attempt) = phase { number = attempt - 1 }
    record(event, index, number: number, at: time) { content in
      let dropped = content.state.set(index, to: phase, error: error)
      guard dropped != nil, content.isObserved else { return dropped }
      content.publish(.latest(index))
      content.publish(.overall)
      return dropped
    }
  }

  // MARK: - Subscribers

  func observeEvents() -> Broadcast<RunRecord, Key>.Subscription {
    broadcast.subscribe(to: { $0 != .overall }) { $0.owed }
  }

  func observeProgress() -> Broadcast<RunRecord, Key>.Subscription {
    broadcast.subscribe(to: { $0 == .overall }) { _ in [.overall] }
  }

  func event(_ record: borrowing RunRecord, _ key: Key) -> ChainEvent? {
    record.event(for: key, names)
  }

  func progress(_ record: borrowing RunRecord, _ key: Key) -> ChainProgress? {
    guard key == .overall else { return nil }
    return ChainProgress(
      fractionCompleted: record.fraction,
      step: step(record.current).description
    )
  }
}
