// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Writes the record of a run and of the chains nested in it, wakes its readers, and calls its observers.
final class RunRecorder: Sendable {
  /// The changes that are delivered to a subscriber.
  enum Key: Hashable, Sendable {
    case started
    case begun(Int)
    case latest(Int)
    case ended
    /// The overall progress.
    case overall
  }

  /// A call of observers that is due.
  typealias Call = @Sendable (any RunObserver) -> Void

  struct State: Sendable {
    var record: RunRecord
    /// Whether no one can read the run any more, so that nothing is recorded.
    var isForgotten = false
    /// How many of the marks have been recorded.
    var markCount = 0
    /// The steps that have started and not finished, as observers know them.
    var active: [Int: (step: ObservedStep, observers: [any RunObserver])] = [:]
    var calls = Fifo<(call: Call, observers: [any RunObserver])>()
    /// Whether a thread is calling observers, which then makes the calls that others add meanwhile.
    var isCalling = false

    mutating func call(_ observers: [any RunObserver], _ call: @escaping Call) {
      if !observers.isEmpty { calls.append((call, observers)) }
    }
  }

  let broadcast: Broadcast<State, Key>
  private let chain: ChainSummary
  let steps: Range<Int>
  let created: Duration
  /// What observers and traces need of the run; nil when there are none.
  let watch: RunWatch?
  /// What the run's own planned steps have done while nothing reads the record.
  private let marks: StepMarks

  /// - Parameters:
  ///   - chain: The chain of the run.
  ///   - firstStep: The index of its first step.
  ///   - watch: What observers and traces need.
  init(of chain: ChainSummary, firstStep: Int = 0, _ watch: RunWatch?) {
    self.watch = watch
    self.chain = chain
    steps = firstStep..<firstStep + chain.stepCount
    created = Self.now(watch)
    let scope = watch?.scope
    let capacity = scope.map { $0.isTraced ? $0.capacity : 0 } ?? 0
    let record = RunRecord(
      steps: steps,
      capacity: capacity > 0 ? capacity : RunRecord.defaultCapacity,
      keepsErrors: scope?.isTraced ?? false
    )
    broadcast = Broadcast(State(record: record))
    marks = StepMarks(stepCount: watch == nil ? chain.stepCount : 0)
    for collector in watch?.scope.collectors ?? [] { collector.add(self) }
  }

  func step(_ index: Int) -> ChainStep { ChainStep(index: index, name: chain.names[index - steps.lowerBound]) }

  /// The time since an origin that all runs on the same clock share.
  static func now(_ watch: RunWatch?, _ instant: ContinuousClock.Instant? = nil) -> Duration {
    watch?.scope.clock?() ?? origin.duration(to: instant ?? .now)
  }

  private static let origin = ContinuousClock.now

  /// A planned step of the run begins or has ended, all those before it having succeeded once.
  ///
  /// - Returns: The number of its entry; nil when the caller has to record it.
  func mark(_ step: Int, isEnd: Bool, at time: Duration) -> Int? {
    let position = step - steps.lowerBound
    guard marks.set(2 * position + (isEnd ? 1 : 0), to: time) else { return nil }
    // A reader that has come meanwhile may have missed it.
    if marks.isClosed { change { _, _ in () } }
    return position + 1
  }

  /// The step of an entry of which nothing but its beginning is recorded, and that as a mark.
  func markedStep(_ number: Int) -> Int { steps.lowerBound + number - 1 }

  /// Closes the marks, and records those that have not been recorded.
  private func record(_ content: inout Broadcast<State, Key>.Content, _ dropped: inout [RunRecord.Entry]) {
    let times = marks.close(from: content.state.markCount)
    for time in times {
      let (step, isEnd) = (steps.lowerBound + content.state.markCount / 2, !content.state.markCount.isMultiple(of: 2))
      content.state.markCount += 1
      var number = content.state.record.number(ofStep: step)
      if isEnd {
        _ = content.state.record.end(number, as: .succeeded, at: time)
      } else {
        number = content.state.record.beginStep(step, in: 0, at: time, dropping: &dropped)
      }
      content.publish(isEnd ? .latest(number) : .begun(number))
      content.publish(.overall)
    }
  }

  /// Changes the record, and then calls the observers, unless the next change is to; what it drops is released outside
  /// the lock.
  @discardableResult
  func change<Result: Sendable>(
    isCalling: Bool = true,
    afterMarks: Bool = true,
    _ body: (inout Broadcast<State, Key>.Content, _ dropped: inout [RunRecord.Entry]) -> Result?
  ) -> Result? {
    var dropped: [RunRecord.Entry] = []
    let (result, hasCalls) = broadcast.update { content in
      guard !content.state.isForgotten else { return (Result?.none, false) }
      if afterMarks { record(&content, &dropped) }
      let result = body(&content, &dropped)
      if content.isObserved {
        // A slow subscriber would otherwise accumulate notifications of what it can no longer read.
        for entry in dropped where content.state.record[entry.number] == nil {
          content.retract(.begun(entry.number))
          content.retract(.latest(entry.number))
        }
      }
      return (result, !content.state.calls.isEmpty)
    }
    if isCalling, hasCalls { callObservers() }
    return result
  }

  /// Drops the record, because the handle and all subscribers are gone; a trace still needs it.
  func forget() {
    guard !(watch?.scope.isTraced ?? false), watch?.observers.isEmpty ?? true else { return }
    let empty = State(record: RunRecord(steps: 0..<0, capacity: 0), isForgotten: true)
    _ = broadcast.update { exchange(&$0.state, with: empty) }
  }

  /// Records the end of the whole run, for its subscribers.
  func end(_ outcome: Outcome<any AnyBox>) {
    change(afterMarks: false) { content, _ -> Void? in
      content.state.record.end(outcome)
      content.publish(.overall)
      content.publish(.ended)
      content.finish()
      return ()
    }
  }

  /// Calls the observers, one after the other, until nothing is left; another thread may do so already.
  func callObservers() {
    let isFirst = broadcast.update { content in
      guard !content.state.isCalling, !content.state.calls.isEmpty else { return false }
      content.state.isCalling = true
      return true
    }
    guard isFirst else { return }
    while let (call, observers) = nextCall() {
      for observer in observers { call(observer) }
    }
  }

  private func nextCall() -> (Call, [any RunObserver])? {
    broadcast.update { content in
      if let next = content.state.calls.popFirst() { return next }
      content.state.isCalling = false
      return nil
    }
  }

  // MARK: - Reading

  func observeEvents() -> Broadcast<State, Key>.Subscription {
    change { _, _ in () }
    return broadcast.subscribe(to: { $0 != .overall }) { Self.initialKeys(of: $0.record) }
  }

  func observeProgress() -> Broadcast<State, Key>.Subscription {
    change { _, _ in () }
    return broadcast.subscribe(to: { $0 == .overall }) { _ in [.overall] }
  }

  /// The changes that a new subscriber receives first: for each step, that it started and its latest state.
  private static func initialKeys(of record: borrowing RunRecord) -> [Key] {
    var keys = [Key.started]
    for entry in record.entries where record.isNewest(entry) {
      keys.append(.begun(entry.number))
      if case .running = entry.state, entry.retrying == nil { continue }
      keys.append(.latest(entry.number))
    }
    if record.outcome != nil { keys.append(.ended) }
    return keys
  }

  func event(_ state: borrowing State, _ key: Key) -> ChainEvent? {
    switch key {
    case .started: .started
    case .ended: state.record.outcome.map { .ended($0.map(\.any)) }
    case .overall: nil
    case .begun(let number): state.record[number].flatMap(step).map { .stepStarted($0) }
    case .latest(let number): state.record[number].flatMap(latest)
    }
  }

  /// The step of an entry.
  private func step(_ entry: RunRecord.Entry) -> ChainStep? {
    guard case .step(let index, let inner) = entry.kind else { return nil }
    return inner.map { ChainStep(index: index, name: $0) } ?? step(index)
  }

  private func latest(_ entry: RunRecord.Entry) -> ChainEvent? {
    guard let step = step(entry) else { return nil }
    if let attempt = entry.retrying { return .stepRetrying(step, attempt: attempt) }
    let duration = (entry.ended ?? entry.begun) - entry.begun
    switch entry.state {
    case .running: return nil
    case .progress(let fraction): return .stepProgress(step, fraction)
    case .stage(let stage): return .stageReached(step, stage)
    case .succeeded: return .stepFinished(step, duration: duration, error: nil)
    case .replayed: return .replayed(step)
    case .failed(.error(let error)): return .stepFinished(step, duration: duration, error: error)
    case .failed(.type): return nil
    case .cancelled: return .stepFinished(step, duration: duration, error: CancellationError())
    case .timedOut: return .timedOut(step, duration: duration)
    case .abandoned: return .abandoned(step, duration: duration)
    case .undone(nil): return .undone(step, error: nil)
    case .undone(.error(let error)?): return .undone(step, error: error)
    case .undone(.type?): return nil
    }
  }

  func progress(_ state: borrowing State, _ key: Key) -> ChainProgress? {
    guard key == .overall else { return nil }
    return progress(of: state.record)
  }

  func progress(of record: borrowing RunRecord) -> ChainProgress {
    ChainProgress(fractionCompleted: record.fraction, step: step(record.current.index).description)
  }

  /// A copy of the record and of what is needed to read it, at a time or else now.
  func reading(at time: Duration? = nil) -> RunReading {
    change { _, _ in () }
    let (entries, droppedCount, outcome) = broadcast.update { content in
      let dropped = content.state.record.trim()
      return withExtendedLifetime(dropped) {
        (content.state.record.entries, content.state.record.droppedCount, content.state.record.outcome)
      }
    }
    var outcomeError: (any Error)?
    if case .failed(let error) = outcome { outcomeError = error }
    return RunReading(
      id: watch?.run.id,
      parentID: watch?.run.parentID,
      name: chain.identity?.name,
      steps: steps,
      step: step,
      start: created,
      now: time ?? Self.now(watch),
      entries: entries,
      droppedCount: droppedCount,
      error: outcomeError
    )
  }
}

/// When the planned steps of a run began and ended, as long as each follows the one before and nothing reads the record.
///
/// The run's task alone sets marks, without a lock; a reader closes them and records them.
// Safety: a time is written before the count that includes it, and is never written again.
private struct StepMarks: ~Copyable, @unchecked Sendable {
  private static var maxSteps: Int { 32 }

  private let times: UnsafeMutableBufferPointer<Duration>
  private let count = Atomic(0)
  private let closed = Atomic(false)

  init(stepCount: Int) {
    times = .allocate(capacity: 2 * min(stepCount, Self.maxSteps))
  }

  deinit { times.deallocate() }

  /// Whether marks have been read.
  ///
  /// A mark is set before this is read, and it is set before marks are read, so that either side sees the other.
  var isClosed: Bool { closed.load(ordering: .sequentiallyConsistent) }

  /// Returns whether the mark could be set, because it is the next one.
  func set(_ position: Int, to time: Duration) -> Bool {
    guard position == count.load(ordering: .relaxed), position < times.count, !closed.load(ordering: .relaxed) else {
      return false
    }
    times.initializeElement(at: position, to: time)
    count.store(position + 1, ordering: .sequentiallyConsistent)
    return true
  }

  /// Lets no further mark be set, and returns the times from a position on.
  func close(from position: Int) -> UnsafeMutableBufferPointer<Duration>.SubSequence {
    if !closed.load(ordering: .relaxed) { closed.store(true, ordering: .sequentiallyConsistent) }
    return times[position..<count.load(ordering: .sequentiallyConsistent)]
  }
}
