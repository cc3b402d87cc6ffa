// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Whether consumers that share one run receive every stage or the newest; see ``Stages/shared(_:)``.
///
/// Use `everyStage` if your consumers store or count stages, and `latest` if they only show them.
public struct StageSharing: Sendable {
  let isPaced: Bool

  /// Every consumer receives every stage.
  ///
  /// The run works on the next stage when all consumers have requested it, so the slowest consumer paces the run.
  public static let everyStage = StageSharing(isPaced: true)

  /// Every consumer receives the newest stage.
  ///
  /// The run works on the next stage when any consumer requests it. Slower consumers skip superseded stages, but never
  /// the last one.
  public static let latest = StageSharing(isPaced: false)
}

extension Stages {
  /// Returns stages that several consumers iterate while the progression runs once.
  ///
  /// Only the newest stage is buffered: with ``StageSharing/everyStage`` the run waits for the slowest consumer, with
  /// ``StageSharing/latest`` a slow consumer skips stages. An iterator becomes a consumer when it is created. It stops
  /// being one when its iteration ends, its task is cancelled, or it is released. A consumer that joins late starts at
  /// the newest stage. A cancelled consumer receives `CancellationError`; the others continue.
  ///
  /// Each stage's work has its own task, with the priority and the task-local values of the consumer whose request
  /// starts it. Cancelling that consumer does not cancel the run. The run ends with the progression, with the first
  /// error, which every consumer receives, or when the last consumer leaves. In the last case the stage in progress is
  /// cancelled, and a consumer that joins later receives the newest stage and then `CancellationError`. The work starts
  /// when the first consumer requests the second stage.
  public func shared(_ sharing: StageSharing) -> some AsyncSequence<P, any Error> & Sendable {
    SharedStages(run: SharedRun(first, sharing))
  }
}

private struct SharedStages<P: Progression>: AsyncSequence, Sendable {
  let run: SharedRun<P>

  func makeAsyncIterator() -> Iterator { Iterator(consumer: SharingConsumer(run)) }

  struct Iterator: AsyncIteratorProtocol {
    /// Nil after the end; releasing it leaves the run.
    var consumer: SharingConsumer<P>?

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> P? {
      guard let current = consumer.take(), let stage = try await current.next() else { return nil }
      consumer = current
      return stage
    }
  }
}

/// One consumer, which leaves when it is released.
private final class SharingConsumer<P: Progression>: Sendable {
  private let run: SharedRun<P>
  private let id: SharedRun<P>.Machine.ConsumerID

  init(_ run: SharedRun<P>) {
    self.run = run
    id = run.join()
  }

  deinit { run.leave(id) }

  func next() async throws -> P? { try await run.next(id) }
}

/// One run of a progression for several consumers: the state machine behind a lock, and the task of the stage in
/// progress.
private final class SharedRun<P: Progression>: Sendable {
  typealias Machine = SharingMachine<P, Once<Void>>

  private struct State {
    var machine: Machine
    var task: Task<Void, Never>?
  }

  private let state: Lock<State>

  init(_ first: P, _ sharing: StageSharing) {
    state = Lock(State(machine: Machine(first: first, isLast: first.result != nil, sharing: sharing)))
  }

  func join() -> Machine.ConsumerID { state.withLock { $0.machine.join() } }

  func leave(_ id: Machine.ConsumerID) {
    let (work, isAbandoned) = state.withLock { $0.machine.leave(id) }
    if let work { begin(work) }
    if isAbandoned { state.withLock { $0.task.take() }?.cancel() }
  }

  /// Waits for a stage newer than the consumer's last one; returns nil after the last one.
  func next(_ id: Machine.ConsumerID) async throws -> P? {
    while !Task.isCancelled {
      switch state.withLock({ $0.machine.request(id, waiter: Once()) }) {
      case .stage(let stage): return stage
      case .end(.completed): return nil
      case .end(.failed(let error)): throw error
      case .end(.abandoned): throw CancellationError()
      case .wait(let waiter, let work):
        if let work { begin(work) }
        _ = await waiter.value()
      }
    }
    throw CancellationError()
  }

  /// Starts the work of the newest stage, isolated from the cancellation and the step context of the consumers.
  private func begin(_ number: Int) {
    let task = spawn {
      await outsideRuns {
        await self.work()?.settle(())
      }
    }
    let isLate = state.withLock { state in
      guard state.machine.isInProgress(number) else { return true }
      state.task = task
      return false
    }
    if isLate { task.cancel() }
  }

  /// Returns what wakes the consumers; the previous stage is released before that, and outside the lock.
  @concurrent private func work() async -> Once<Void>? {
    let stage = state.withLock { $0.machine.newest }
    let result = await Result.of {
      try Task.checkCancellation()
      return try await stage.next()
    }
    let isLast = (try? result.get())?.result != nil
    let (end, _) = state.withLock { ($0.machine.end(result, isLast: isLast), $0.task.take()) }
    return end.wake
  }
}

/// Decides what happens when several consumers iterate one run of a progression.
///
/// It stores only the newest stage. A consumer that has to wait receives a waiter; the machine wakes it after a change,
/// and it tries again. A `Broadcast` would not do: it never makes the producer wait.
struct SharingMachine<Stage, Waiter> {
  typealias ConsumerID = UInt64

  enum Ending {
    case completed
    case failed(any Error)
    case abandoned
  }

  private enum Run {
    /// The stage after the newest one has not been requested.
    case paused
    case working
    case ended(Ending)
  }

  private let sharing: StageSharing
  private(set) var newest: Stage
  /// The number of the newest stage; the first one has the number 0.
  private var number = 0
  private var run: Run
  /// The number of the stage that each consumer received last; -1 before the first one.
  private var received: [ConsumerID: Int] = [:]
  /// The consumers that wait for the stage after the newest one, and what they wait for.
  private var waiting: Set<ConsumerID> = []
  private var waiter: Waiter?
  private var nextID: ConsumerID = 0

  init(first: Stage, isLast: Bool = false, sharing: StageSharing) {
    newest = first
    run = isLast ? .ended(.completed) : .paused
    self.sharing = sharing
  }

  /// A consumer joins; it starts at the newest stage.
  mutating func join() -> ConsumerID {
    defer { nextID += 1 }
    received[nextID] = -1
    return nextID
  }

  enum RequestAction {
    case stage(Stage)
    case end(Ending)
    /// It waits, and the work on the stage with this number begins, if any.
    case wait(Waiter, Int?)
  }

  /// A consumer that does not wait requests a stage newer than the one it received last.
  mutating func request(_ id: ConsumerID, waiter new: @autoclosure () -> Waiter) -> RequestAction {
    if received[id] != number {
      received[id] = number
      return .stage(newest)
    }
    if case .ended(let ending) = run { return .end(ending) }
    waiting.insert(id)
    return .wait(waiter.stored(or: new()), begin())
  }

  /// Returns the number of the stage whose work begins, if any, and whether the last consumer has left the run.
  mutating func leave(_ id: ConsumerID) -> (work: Int?, isAbandoned: Bool) {
    received[id] = nil
    waiting.remove(id)
    guard received.isEmpty else { return (begin(), false) }
    switch run {
    // A consumer that joins before anything was requested finds the run unchanged.
    case .paused where number == 0: return (nil, false)
    case .ended: return (nil, false)
    case .paused, .working:
      run = .ended(.abandoned)
      return (nil, true)
    }
  }

  /// Begins the work of the newest stage, and returns its number, if enough consumers have requested the next one.
  private mutating func begin() -> Int? {
    guard case .paused = run, !waiting.isEmpty, !sharing.isPaced || waiting.count == received.count else { return nil }
    run = .working
    return number
  }

  func isInProgress(_ work: Int) -> Bool {
    if case .working = run { work == number } else { false }
  }

  /// The work of a stage has ended.
  ///
  /// - Returns: What to wake, and the previous stage, which is released outside the lock.
  mutating func end(_ result: Result<Stage, any Error>, isLast: Bool) -> (wake: Waiter?, releasing: Stage?) {
    guard case .working = run else { return (nil, nil) }
    waiting = []
    switch result {
    case .success(let stage):
      number += 1
      run = isLast ? .ended(.completed) : .paused
      return (waiter.take(), exchange(&newest, with: stage))
    case .failure(let error):
      run = .ended(.failed(error))
      return (waiter.take(), nil)
    }
  }
}
