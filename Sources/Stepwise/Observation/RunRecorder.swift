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
  private let names: [Int: String]
  let steps: Range<Int>
  let identity: ChainIdentity?
  let created: Duration
  /// What observers and traces need of the run; nil when there are none.
  let watch: RunWatch?

  /// - Parameters:
  ///   - program: The program of the run.
  ///   - firstStep: The index of its first step.
  ///   - watch: What observers and traces need.
  init(of program: Program, firstStep: Int = 0, _ watch: RunWatch?) {
    self.watch = watch
    names = program.names
    steps = firstStep..<firstStep + program.stepCount
    identity = program.identity
    created = Self.now(watch)
    let scope = watch?.scope
    let capacity = scope.map { $0.isTraced ? $0.capacity : 0 } ?? 0
    let record = RunRecord(
      steps: steps,
      capacity: capacity > 0 ? capacity : RunRecord.defaultCapacity,
      keepsErrors: scope?.isTraced ?? false
    )
    broadcast = Broadcast(State(record: record))
    for collector in watch?.scope.collectors ?? [] { collector.add(self) }
  }

  func step(_ index: Int) -> ChainStep { ChainStep(index: index, name: names[index - steps.lowerBound]) }

  /// The time since an origin that all runs on the same clock share.
  static func now(_ watch: RunWatch?, _ instant: ContinuousClock.Instant? = nil) -> Duration {
    watch?.scope.clock?() ?? origin.duration(to: instant ?? .now)
  }

  private static let origin = ContinuousClock.now

  /// Changes the record, and then calls the observers, unless the next change is to; what it drops is released outside
  /// the lock.
  @discardableResult
  func change<Result: Sendable>(
    isCalling: Bool = true,
    _ body: (inout Broadcast<State, Key>.Content, _ dropped: inout [RunRecord.Entry]) -> Result?
  ) -> Result? {
    var dropped: [RunRecord.Entry] = []
    let (result, hasCalls) = broadcast.update { content in
      let result = content.state.isForgotten ? nil : body(&content, &dropped)
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
    change { content, _ -> Void? in
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
    broadcast.subscribe(to: { $0 != .overall }) { Self.owed($0.record) }
  }

  func observeProgress() -> Broadcast<State, Key>.Subscription {
    broadcast.subscribe(to: { $0 == .overall }) { _ in [.overall] }
  }

  /// The changes that a new subscriber receives first: for each step, that it started and its latest state.
  private static func owed(_ record: borrowing RunRecord) -> [Key] {
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
      name: identity?.name,
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

/// What observers and traces need of one run.
final class RunWatch: Sendable {
  let run: ObservedRun
  let observers: [any RunObserver]
  /// The scope of the runs that are started in this one.
  let scope: ObservationScope

  private static let lastID = Atomic<UInt64>(0)

  init(_ program: Program, _ observers: [any RunObserver], in outer: ObservationScope) {
    let id = Self.lastID.add(1, ordering: .relaxed).newValue
    run = ObservedRun(id: id, name: program.name, parentID: outer.parentID)
    self.observers = observers
    var scope = outer
    scope.parentID = id
    self.scope = scope
  }

  /// Returns nil when nothing observes a run of the chain that starts here.
  static func make(for program: Program, in observation: ObservationScope?) -> RunWatch? {
    let own = program.observers
    guard !own.isEmpty || RunObservers.isUsed || observation != nil else { return nil }
    let scope = observation ?? ObservationScope()
    let observers = RunObservers.all + scope.observers + own
    return observers.isEmpty && !scope.isTraced ? nil : RunWatch(program, observers, in: scope)
  }
}
