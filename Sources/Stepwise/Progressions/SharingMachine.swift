// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides what happens when several consumers iterate one run of a progression.
///
/// It stores only the newest stage. Consumers and the producer leave a waiter when they have nothing to do. The machine
/// wakes them after a change, and they try again. A `Broadcast` would not do: it never makes the producer wait.
struct SharingMachine<Stage, Waiter> {
  typealias ConsumerID = UInt64

  enum Ending {
    /// The last stage has been reached.
    case completed
    case failed(any Error)
    /// All consumers have left.
    case abandoned
  }

  private enum Run {
    /// There is no producer.
    case idle
    case working
    /// The producer waits until the next stage is requested.
    case paused(Waiter)
    case ended(Ending)
  }

  /// What a consumer that does not wait has received.
  private enum Position {
    case behind, newest
  }

  private let sharing: StageSharing
  private var newest: Stage
  private var run = Run.idle
  private var reading: [ConsumerID: Position] = [:]
  /// The consumers that wait for the stage after the newest one.
  private var waiting: [ConsumerID: Waiter] = [:]
  private var nextID: ConsumerID = 0

  init(first: Stage, sharing: StageSharing) {
    newest = first
    self.sharing = sharing
  }

  /// Whether no further stage is produced.
  var isOver: Bool { if case .ended = run { true } else { false } }

  /// Whether the producer should work on the stage after the newest one.
  private var isWanted: Bool {
    switch sharing.kind {
    case .everyStage: !waiting.isEmpty && reading.isEmpty
    case .latest: !waiting.isEmpty
    }
  }

  // MARK: - Consumers

  /// A consumer joins; it starts at the newest stage.
  mutating func join() -> ConsumerID {
    defer { nextID += 1 }
    reading[nextID] = .behind
    return nextID
  }

  /// What makes the producer work on the next stage.
  enum Demand {
    case none
    case start
    case wake(Waiter)
  }

  enum RequestAction {
    case stage(Stage)
    case end(Ending)
    case wait(Waiter, Demand)
  }

  /// A consumer requests a stage newer than the one it received last.
  mutating func request(_ id: ConsumerID, waiter: @autoclosure () -> Waiter) -> RequestAction {
    switch reading[id] {
    case .behind:
      reading[id] = .newest
      return .stage(newest)
    case nil where waiting[id] == nil: return .end(.abandoned)
    case .newest, nil: break
    }
    if case .ended(let ending) = run { return .end(ending) }
    let new = waiter()
    reading[id] = nil
    waiting[id] = new
    return .wait(new, demand())
  }

  enum LeaveAction {
    case proceed(Demand)
    /// The last consumer left: cancels the stage in progress, and wakes a producer that waits.
    case cancel(Waiter?)
  }

  /// A consumer leaves.
  mutating func leave(_ id: ConsumerID) -> LeaveAction {
    reading[id] = nil
    waiting[id] = nil
    guard reading.isEmpty, waiting.isEmpty else { return .proceed(demand()) }
    switch run {
    // A consumer that joins before the producer starts finds the run unchanged.
    case .idle, .ended: return .proceed(.none)
    case .working:
      run = .ended(.abandoned)
      return .cancel(nil)
    case .paused(let producer):
      run = .ended(.abandoned)
      return .cancel(producer)
    }
  }

  private mutating func demand() -> Demand {
    guard isWanted else { return .none }
    switch run {
    case .working, .ended: return .none
    case .idle:
      run = .working
      return .start
    case .paused(let producer):
      run = .working
      return .wake(producer)
    }
  }

  // MARK: - The producer

  enum ProduceAction {
    case produce
    case wait
    case stop
  }

  /// The producer requests permission to work on the next stage.
  mutating func produce(waiter: Waiter) -> ProduceAction {
    if isOver { return .stop }
    if isWanted { return .produce }
    run = .paused(waiter)
    return .wait
  }

  enum ReachAction {
    /// The consumers have left since.
    case discard
    /// Wakes the consumers, and releases the previous stage outside the lock.
    case wake([Waiter], releasing: Stage)
  }

  mutating func reach(_ stage: Stage) -> ReachAction {
    if isOver { return .discard }
    if !reading.isEmpty { reading = reading.mapValues { _ in .behind } }
    let woken = wakeConsumers(at: .behind)
    return .wake(woken, releasing: exchange(&newest, with: stage))
  }

  /// No stage follows the newest one.
  ///
  /// Returns the waiters to wake.
  mutating func end(_ ending: Ending) -> [Waiter] {
    if isOver { return [] }
    run = .ended(ending)
    return wakeConsumers(at: .newest)
  }

  private mutating func wakeConsumers(at position: Position) -> [Waiter] {
    for id in waiting.keys { reading[id] = position }
    defer { waiting.removeAll(keepingCapacity: true) }
    return Array(waiting.values)
  }
}
