// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Writes the record of a run and of the chains nested in it, wakes its readers, and calls its observers.
final class RunRecorder: Sendable {
  enum Key: Hashable, Sendable {
    case started
    case begun(Int)
    case latest(Int)
    case ended
    case overall
  }

  typealias Call = @Sendable (any RunObserver) -> Void

  struct State: Sendable {
    var record: RunRecord
    var markCount = 0
    /// The steps that have started and not finished, as observers know them.
    var active: [Int: (step: ObservedStep, observers: [any RunObserver])] = [:]
    var calls = OrderedSlots<(call: Call, observers: [any RunObserver])>()
    /// Whether a thread is calling observers, which then makes the calls that others add meanwhile.
    var isCalling = false

    mutating func call(_ observers: [any RunObserver], _ call: @escaping Call) {
      if !observers.isEmpty { calls.append((call, observers)) }
    }
  }

  typealias Content = Broadcast<State, Key>.Content
  typealias Subscription = Broadcast<State, Key>.Subscription

  private enum Storage {
    /// Nothing reads the record, and marks suffice: how the run has ended, and its outcome after its handlers.
    case unread(end: (state: RunRecord.State, time: Duration)?, outcome: Outcome<any AnyBox>?)
    case recorded(Broadcast<State, Key>)
    /// No one can read the record any more.
    case forgotten
  }

  private let storage = Lock(Storage.unread(end: nil, outcome: nil))
  private let chain: ChainSummary
  let steps: Range<Int>
  let created: Duration
  /// What observers and traces need of the run; nil when there are none.
  let watch: RunWatch?
  /// What the run's own planned steps have done while nothing reads the record.
  private let marks: StepMarks

  init(of chain: ChainSummary, firstStep: Int = 0, _ watch: RunWatch?) {
    self.watch = watch
    self.chain = chain
    steps = firstStep..<firstStep + chain.stepCount
    created = Self.now(watch)
    marks = StepMarks(stepCount: watch == nil ? chain.stepCount : 0)
    for collector in watch?.scope.collectors ?? [] { collector.add(self) }
  }

  /// The record and its readers, created when something has to be recorded or read; nil when no one can read it any more.
  private var broadcast: Broadcast<State, Key>? {
    storage.withLock { storage in
      switch storage {
      case .forgotten: return nil
      case .recorded(let broadcast): return broadcast
      case .unread(let end, let outcome):
        let isTraced = watch?.scope.isTraced ?? false
        let capacity = isTraced ? watch?.scope.capacity : nil
        var record = RunRecord(steps: steps, capacity: capacity ?? RunRecord.defaultCapacity, keepsErrors: isTraced)
        let kind = RunRecord.Kind.run(name: chain.identity?.name, .none, steps: steps, id: watch?.run.id)
        let number = record.add(kind, in: -1, at: created)
        if let end { _ = record.end(number, as: end.state, at: end.time) }
        if let outcome { record.end(outcome) }
        let broadcast = Broadcast<State, Key>(State(record: record))
        if outcome != nil { broadcast.update { $0.finish() } }
        storage = .recorded(broadcast)
        return broadcast
      }
    }
  }

  /// Changes what is stored of a run that nothing reads; returns false when there is a record.
  private func changeUnread(
    _ body: (inout (state: RunRecord.State, time: Duration)?, inout Outcome<any AnyBox>?) -> Void
  ) -> Bool {
    storage.withLock { storage in
      guard case .unread(var end, var outcome) = storage else { return false }
      body(&end, &outcome)
      storage = .unread(end: end, outcome: outcome)
      return true
    }
  }

  func step(_ index: Int) -> ChainStep { ChainStep(index: index, name: chain.names[index - steps.lowerBound]) }

  /// The time since an origin that all runs on the same clock share.
  static func now(_ watch: RunWatch?) -> Duration { watch?.scope.clock?() ?? origin.duration(to: .now) }

  private static let origin = ContinuousClock.now

  /// Notes that a step begins or has ended, and returns the number of its entry; nil when the caller has to record it.
  func mark(_ step: Int, isEnd: Bool, at time: Duration) -> Int? {
    let position = step - steps.lowerBound
    guard marks.set(2 * position + (isEnd ? 1 : 0), to: time) else { return nil }
    // A reader that has come meanwhile may have missed it.
    if marks.isClosed { change { _ in () } }
    return position + 1
  }

  /// The step of an entry of which nothing but its beginning is recorded, and that as a mark.
  func markedStep(_ number: Int) -> Int { steps.lowerBound + number - 1 }

  /// Closes the marks, and records those that have not been recorded.
  private func record(_ content: inout Content) {
    let times = marks.close(from: content.state.markCount)
    for time in times {
      let (step, isEnd) = (steps.lowerBound + content.state.markCount / 2, !content.state.markCount.isMultiple(of: 2))
      content.state.markCount += 1
      var number = content.state.record.number(ofStep: step)
      if isEnd {
        _ = content.state.record.end(number, as: .succeeded, at: time)
      } else {
        number = content.state.record.beginStep(step, in: 0, at: time)
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
    _ body: (inout Content) -> Result?
  ) -> Result? {
    guard let broadcast else { return nil }
    let (result, hasCalls, _) = broadcast.update { content in
      record(&content)
      let result = body(&content)
      let replaced = content.state.record.takeReplaced()
      // A slow subscriber would otherwise accumulate notifications of what it can no longer read.
      for entry in replaced where content.isObserved && content.state.record[entry.number] == nil {
        content.retract(.begun(entry.number))
        content.retract(.latest(entry.number))
      }
      return (result, !content.state.calls.isEmpty, replaced)
    }
    if isCalling, hasCalls { callObservers() }
    return result
  }

  /// Drops the record, because the handle and all subscribers are gone; a trace still needs it.
  func forget() {
    guard !(watch?.scope.isTraced ?? false), watch?.observers.isEmpty ?? true else { return }
    _ = storage.withLock { exchange(&$0, with: .forgotten) }
  }

  /// Records the end of the run itself, before ``end(_:)``.
  func leave(as state: RunRecord.State, at time: Duration) -> Bool {
    watch == nil && changeUnread { end, _ in end = (state, time) }
  }

  /// Records the end of the whole run, for its subscribers.
  func end(_ outcome: Outcome<any AnyBox>) {
    guard !changeUnread({ $1 = outcome }) else { return }
    change { content -> Void? in
      content.state.record.end(outcome)
      content.publish(.overall)
      content.publish(.ended)
      return content.finish()
    }
  }

  /// Calls the observers, one after the other, until nothing is left; another thread may do so already.
  func callObservers() {
    guard let broadcast else { return }
    let isFirst = broadcast.update { content in
      guard !content.state.isCalling, !content.state.calls.isEmpty else { return false }
      content.state.isCalling = true
      return true
    }
    guard isFirst else { return }
    while let (call, observers) = nextCall(of: broadcast) {
      for observer in observers { call(observer) }
    }
  }

  private func nextCall(of broadcast: Broadcast<State, Key>) -> (Call, [any RunObserver])? {
    broadcast.update { content in
      if let next = content.state.calls.popFirst() { return next }
      content.state.isCalling = false
      return nil
    }
  }

  // MARK: - Reading

  /// Subscribes to the overall progress alone, or to everything else.
  func subscribe(toProgress isProgress: Bool) -> Subscription? {
    change { _ in () }
    return broadcast?.subscribe(to: { ($0 == .overall) == isProgress }) { state in
      isProgress ? [.overall] : Self.initialKeys(of: state.record)
    }
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

  func step(_ entry: RunRecord.Entry) -> ChainStep? {
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

  func progress(of record: borrowing RunRecord) -> ChainProgress {
    ChainProgress(fractionCompleted: record.fraction, step: step(record.current).description)
  }

  /// A copy of the record and of what is needed to read it, at a time or else now.
  func reading(at time: Duration? = nil) -> RunReading {
    let record = change { content in
      content.state.record.trim()
      return content.state.record
    }
    var outcomeError: (any Error)?
    if case .failed(let error) = record?.outcome { outcomeError = error }
    return RunReading(
      id: watch?.run.id,
      parentID: watch?.run.parentID,
      name: chain.identity?.name,
      steps: steps,
      step: step,
      start: created,
      now: time ?? Self.now(watch),
      entries: record?.entries ?? [],
      droppedCount: record?.droppedCount ?? 0,
      error: outcomeError
    )
  }
}

/// When the planned steps of a run began and ended, as long as they run in order and nothing reads the record.
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
