// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// What observers and traces need of one run.
struct RunWatch: Sendable {
  let run: ObservedRun
  let observers: [any RunObserver]
  let signals: RunSignals
  /// The scope of the runs that are started in this one.
  let scope: ObservationScope

  /// The number of log entries that traces need.
  var logCapacity: Int { scope.collectors.map(\.capacity).max() ?? 0 }

  private static let lastID = Atomic<UInt64>(0)

  /// Returns nil when nothing observes a run of the chain that starts here.
  ///
  /// - Parameters:
  ///   - program: The program of the chain.
  ///   - outer: The run that contains it, if that is observed.
  ///   - isNested: Whether a run contains it, which is recorded.
  /// - Returns: What observers and traces need.
  static func make(for program: Program, in outer: RunWatch?, isNested: Bool) -> RunWatch? {
    let own = program.observers
    if let outer {
      let run = makeRun(program, parentID: outer.run.id)
      return RunWatch(run, observers: outer.observers + own, outer.signals, outer.scope)
    }
    guard !own.isEmpty || !isNested && RunObservers.isUsed else { return nil }
    let scope = isNested ? ObservationScope() : ObservationScope.current ?? ObservationScope()
    let observers = isNested ? [] : RunObservers.all + scope.observers
    guard !observers.isEmpty || !own.isEmpty || scope.collectors.contains(where: \.isOpen) else { return nil }
    let run = makeRun(program, parentID: scope.parentID)
    return RunWatch(run, observers: observers + own, RunSignals(), scope)
  }

  private static func makeRun(_ program: Program, parentID: UInt64?) -> ObservedRun {
    let id = lastID.add(1, ordering: .relaxed).newValue
    return ObservedRun(id: id, name: program.name, parentID: parentID)
  }

  private init(
    _ run: ObservedRun,
    observers: [any RunObserver],
    _ signals: RunSignals,
    _ outer: ObservationScope
  ) {
    self.run = run
    self.observers = observers
    self.signals = signals
    var scope = outer
    scope.parentID = run.id
    self.scope = scope
  }
}

/// The events for the observers of a run and of the runs nested in it, which are delivered one at a time.
final class RunSignals: Sendable {
  enum Signal: Sendable {
    case runStarted(ObservedRun)
    case stepStarted(ObservedStep)
    case attemptFailed(ObservedStep, attempt: Int, any Error)
    case stepFinished(ObservedStep, Duration, (any Error)?)
    case stepUndone(ObservedStep, (any Error)?)
    case runEnded(ObservedRun, Duration, ChainState)
  }

  private struct Active {
    let step: ObservedStep
    let observers: [any RunObserver]
    let start: Duration
  }

  private struct State {
    /// The steps that have started and not finished.
    var active: [Int: Active] = [:]
    var attempts: [Int: Int] = [:]
    /// The times at which the runs that have not ended started.
    var runs: [UInt64: Duration] = [:]
    var pending = OrderedSlots<(signal: Signal, observers: [any RunObserver])>()
    /// Whether a thread is delivering, which then delivers what others add meanwhile.
    var isDelivering = false

    func step(_ step: ChainStep, of watch: RunWatch) -> ObservedStep {
      ObservedStep(run: watch.run, step: step, attempt: attempts[step.index] ?? 1)
    }

    mutating func send(_ signal: Signal, to observers: [any RunObserver]) {
      if !observers.isEmpty { _ = pending.append((signal, observers)) }
    }
  }

  private let state = Lock(State())

  /// Stores that a run has started; its observers are notified with the next delivery.
  func start(_ watch: RunWatch, at time: Duration, if isOpen: () -> Bool) {
    state.withLock { state in
      guard isOpen() else { return }
      state.runs[watch.run.id] = time
      state.send(.runStarted(watch.run), to: watch.observers)
    }
  }

  func end(_ watch: RunWatch, at time: Duration, outcome: ChainState) {
    state.withLock { state in
      guard let start = state.runs.removeValue(forKey: watch.run.id) else { return }
      state.send(.runEnded(watch.run, time - start, outcome), to: watch.observers)
    }
    deliver()
  }

  func begin(_ step: ChainStep, of watch: RunWatch, at time: Duration, if isOpen: () -> Bool) {
    state.withLock { state in
      guard isOpen() else { return }
      let attempt = state.attempts[step.index, default: 0] + 1
      state.attempts[step.index] = attempt
      let step = ObservedStep(run: watch.run, step: step, attempt: attempt)
      state.active[step.step.index] = Active(step: step, observers: watch.observers, start: time)
      state.send(.stepStarted(step), to: watch.observers)
    }
    deliver()
  }

  /// Ends the steps of a range that are active; none, when the run has abandoned them meanwhile.
  func finish(_ steps: Range<Int>, at time: Duration, error: (any Error)?, if isOpen: () -> Bool = { true }) {
    state.withLock { state in
      guard isOpen() else { return }
      let indices = steps.count == 1 ? [steps.lowerBound] : state.active.keys.filter(steps.contains).sorted()
      for index in indices {
        guard let active = state.active.removeValue(forKey: index) else { continue }
        state.send(.stepFinished(active.step, time - active.start, error), to: active.observers)
      }
    }
    deliver()
  }

  func retry(_ step: ChainStep, of watch: RunWatch, attempt: Int, error: any Error, if isOpen: () -> Bool) {
    state.withLock { state in
      guard isOpen() else { return }
      let active = state.active[step.index]
      let failed = active?.step ?? state.step(step, of: watch)
      state.send(.attemptFailed(failed, attempt: attempt, error), to: active?.observers ?? watch.observers)
    }
    deliver()
  }

  func undo(_ step: ChainStep, of watch: RunWatch, error: (any Error)?, if isOpen: () -> Bool) {
    state.withLock { state in
      guard isOpen() else { return }
      state.send(.stepUndone(state.step(step, of: watch), error), to: watch.observers)
    }
    deliver()
  }

  /// Calls the observers, one after the other, until nothing is left; another thread may do so already.
  func deliver() {
    let isFirst = state.withLock { state in
      guard !state.isDelivering, !state.pending.isEmpty else { return false }
      state.isDelivering = true
      return true
    }
    guard isFirst else { return }
    while let (signal, observers) = next() {
      for observer in observers { signal.send(to: observer) }
    }
  }

  private func next() -> (Signal, [any RunObserver])? {
    state.withLock { state in
      if let next = state.pending.popFirst() { return next }
      state.isDelivering = false
      return nil
    }
  }
}

extension RunSignals.Signal {
  fileprivate func send(to observer: any RunObserver) {
    switch self {
    case .runStarted(let run): observer.runStarted(run)
    case .stepStarted(let step): observer.stepStarted(step)
    case .attemptFailed(let step, let attempt, let error): observer.attemptFailed(step, attempt: attempt, error: error)
    case .stepFinished(let step, let duration, let error):
      observer.stepFinished(step, duration: duration, error: error)
    case .stepUndone(let step, let error): observer.stepUndone(step, error: error)
    case .runEnded(let run, let duration, let outcome): observer.runEnded(run, duration: duration, outcome: outcome)
    }
  }
}
