// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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

  /// What is stored of the run: a record, or less as long as nothing reads one.
  private struct Storage {
    /// How the run has ended.
    var end: (state: RunRecord.State, time: Duration)?
    /// Its outcome, after its handlers.
    var outcome: Outcome<any AnyBox>?
    var broadcast: Broadcast<State, Key>?
    /// When the planned steps began and ended, by turns, as long as they run in order and nothing reads the record.
    var times: [Duration] = []
    /// Whether no one can read the record any more.
    var isForgotten = false
  }

  private let storage = Lock(Storage())
  private let chain: ChainSummary
  let steps: Range<Int>
  let created: Duration
  /// What observers and traces need of the run; nil when there are none.
  let watch: RunWatch?

  init(of chain: ChainSummary, firstStep: Int = 0, _ watch: RunWatch?) {
    self.watch = watch
    self.chain = chain
    steps = firstStep..<firstStep + chain.stepCount
    created = Self.now(watch)
    for collector in watch?.scope.collectors ?? [] { collector.add(self) }
  }

  /// How many planned steps a run has whose times are stored without a record.
  private var maxTimedSteps: Int { min(steps.count, RunRecord.defaultCapacity) }

  /// The record and its readers, created when something has to be recorded or read; nil when no one can read it any more.
  private var broadcast: Broadcast<State, Key>? {
    storage.withLock { storage in
      if storage.isForgotten { return nil }
      if let broadcast = storage.broadcast { return broadcast }
      let isTraced = watch?.scope.isTraced ?? false
      let capacity = isTraced ? watch?.scope.capacity : nil
      var record = RunRecord(steps: steps, capacity: capacity ?? RunRecord.defaultCapacity, keepsErrors: isTraced)
      let kind = RunRecord.Kind.run(name: chain.identity.name, .none, steps: steps, id: watch?.run.id)
      let number = record.add(kind, in: -1, at: created)
      for (position, time) in exchange(&storage.times, with: []).enumerated() {
        let step = steps.lowerBound + position / 2
        if position.isMultiple(of: 2) {
          _ = record.beginStep(step, in: number, at: time)
        } else {
          _ = record.end(record.number(ofStep: step), as: .succeeded, at: time)
        }
      }
      if let end = storage.end { _ = record.end(number, as: end.state, at: end.time) }
      if let outcome = storage.outcome.take() { record.end(outcome) }
      let broadcast = Broadcast<State, Key>(State(record: record))
      if record.outcome != nil { broadcast.update { $0.finish() } }
      storage.broadcast = broadcast
      return broadcast
    }
  }

  /// Changes what is stored of a run that nothing reads; returns false when there is a record, and the change fails.
  private func changeUnread(_ change: (inout Storage) -> Void) -> Bool {
    storage.withLock { storage in
      guard storage.broadcast == nil, !storage.isForgotten else { return false }
      change(&storage)
      return true
    }
  }

  func step(_ index: Int) -> ChainStep { ChainStep(index: index, name: chain.names[index - steps.lowerBound]) }

  /// The time since an origin that all runs on the same clock share.
  // An instant, whose size the compiler does not know here, would be allocated in the memory of the task if inlined.
  @inline(never)
  static func now(_ watch: RunWatch?) -> Duration { watch?.scope.clock?() ?? origin.duration(to: .now) }

  private static let origin = ContinuousClock.now

  /// Stores when a planned step began or ended, by the number of its entry; returns false when that needs a record.
  func note(_ number: Int, isEnd: Bool, at time: Duration) -> Bool {
    let position = 2 * number - (isEnd ? 1 : 2)
    guard number > 0, number <= maxTimedSteps else { return false }
    return storage.withLock { storage in
      guard storage.broadcast == nil, !storage.isForgotten, storage.times.count == position else { return false }
      if position == 0 { storage.times.reserveCapacity(2 * maxTimedSteps) }
      storage.times.append(time)
      return true
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
    _ = storage.withLock { exchange(&$0, with: Storage(isForgotten: true)) }
  }

  /// Returns what the record retains of an output, whose run retains the recorder.
  ///
  /// The handle of a run breaks that circle, with ``forget()``, unless others read the record as well.
  func output(of run: some AnyBox, isShared: Bool) -> any AnyBox { isShared || watch != nil ? WeakBox(run) : run }

  /// Records the end of the run itself, before ``end(_:)``.
  func endRun(as state: RunRecord.State, at time: Duration) -> Bool { changeUnread { $0.end = (state, time) } }

  /// Records the end of the whole run, for its subscribers.
  func end(_ outcome: Outcome<any AnyBox>) {
    if changeUnread({ $0.outcome = outcome }) { return }
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
    var isCaller = false
    func next() -> (Call, [any RunObserver])? {
      broadcast.update { content in
        guard content.state.isCalling == isCaller else { return nil }
        isCaller = !content.state.calls.isEmpty
        content.state.isCalling = isCaller
        return content.state.calls.popFirst()
      }
    }
    while let (call, observers) = next() {
      for observer in observers { call(observer) }
    }
  }

  // MARK: - Reading

  func subscribe(to initial: (borrowing RunRecord) -> [Key]) -> Subscription? {
    broadcast?.subscribe { initial($0.record) }
  }

  /// The changes that a new subscriber receives first: for each step, that it started and its latest state.
  static func initialKeys(of record: borrowing RunRecord) -> [Key] {
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
    case .stage(let stage): return .stageReached(step, stage.any)
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
    let (index, inner) = record.current
    return ChainProgress(fractionCompleted: record.fraction, step: inner ?? step(index).description)
  }

  /// A copy of the record and of what is needed to read it, at a time or else now.
  func reading(at time: Duration? = nil) -> RunReading {
    let record = change { content in
      content.state.record.trim()
      return content.state.record
    }
    return RunReading(
      id: watch?.run.id,
      parentID: watch?.run.parentID,
      name: chain.identity.name,
      steps: steps,
      step: step,
      start: created,
      now: time ?? Self.now(watch),
      entries: record?.entries ?? [],
      droppedCount: record?.droppedCount ?? 0
    )
  }
}
