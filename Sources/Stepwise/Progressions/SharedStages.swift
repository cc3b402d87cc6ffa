// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Whether consumers that share one run receive every stage or the newest; see ``Stages/shared(_:)``.
///
/// Use `everyStage` if your consumers store or count stages, and `latest` if they only show them.
public struct StageSharing: Sendable {
  enum Kind {
    case everyStage
    case latest
  }

  let kind: Kind

  /// Every consumer receives every stage.
  ///
  /// The run works on the next stage when all consumers have requested it, so the slowest consumer paces the run.
  public static let everyStage = StageSharing(kind: .everyStage)

  /// Every consumer receives the newest stage.
  ///
  /// The run works on the next stage when any consumer requests it. Slower consumers skip superseded stages, but never
  /// the last one.
  public static let latest = StageSharing(kind: .latest)
}

extension Stages {
  /// Returns stages that several consumers iterate while the progression runs once.
  ///
  /// Only the newest stage is buffered: with ``StageSharing/everyStage`` the run waits for the slowest consumer, with
  /// ``StageSharing/latest`` a slow consumer skips stages. An iterator becomes a consumer when it is created. It stops
  /// being one when its iteration ends, its task is cancelled, or it is released. A consumer that joins late starts at
  /// the newest stage. A cancelled consumer receives `CancellationError`; the others continue.
  ///
  /// The run has its own task, with the priority and the task-local values of the consumer that requested a stage
  /// first. Cancelling that consumer does not cancel the run. The run ends with the progression, with the first error,
  /// which every consumer receives, or when the last consumer leaves. In the last case the stage in progress is
  /// cancelled, and a consumer that joins later receives the newest stage and then `CancellationError`.
  ///
  /// - Parameter sharing: Which stages a consumer receives when it is slower than others.
  /// - Returns: The stages of one run. The work starts when the first consumer requests the second stage.
  public func shared(_ sharing: StageSharing) -> some AsyncSequence<P, any Error> & Sendable {
    SharedStages(storage: SharingStorage(self, sharing))
  }
}

private struct SharedStages<P: Progression>: AsyncSequence, Sendable {
  let storage: SharingStorage<P>

  func makeAsyncIterator() -> Iterator { Iterator(consumer: SharingConsumer(storage)) }

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

/// One run of a progression for several consumers: the state machine behind a lock, and the task of the run.
final class SharingStorage<P: Progression>: Sendable {
  typealias Machine = SharingMachine<P, Once<Void>>

  private struct State {
    var machine: Machine
    var task: Task<Void, Never>?
  }

  private let stages: Stages<P>
  private let state: Lock<State>

  init(_ stages: Stages<P>, _ sharing: StageSharing) {
    self.stages = stages
    state = Lock(State(machine: Machine(first: stages.first, sharing: sharing)))
  }

  func join() -> Machine.ConsumerID {
    state.withLock { $0.machine.join() }
  }

  func leave(_ id: Machine.ConsumerID) {
    switch state.withLock({ $0.machine.leave(id) }) {
    case .proceed(let demand): meet(demand)
    case .cancel(let producer):
      state.withLock { $0.task.take() }?.cancel()
      producer?.settle(())
    }
  }

  /// Waits for a stage newer than the consumer's last one; returns nil after the last one.
  nonisolated(nonsending) func next(_ id: Machine.ConsumerID) async throws -> P? {
    while !Task.isCancelled {
      switch state.withLock({ $0.machine.request(id, waiter: Once()) }) {
      case .stage(let stage): return stage
      case .end(.completed): return nil
      case .end(.failed(let error)): throw error
      case .end(.abandoned): throw CancellationError()
      case .wait(let waiter, let demand):
        meet(demand)
        _ = await waiter.value()
      }
    }
    throw CancellationError()
  }

  // MARK: - The run

  private func meet(_ demand: Machine.Demand) {
    switch demand {
    case .none: break
    case .start: begin()
    case .wake(let producer): producer.settle(())
    }
  }

  /// Starts the run, isolated from the cancellation and the step context of the consumers.
  private func begin() {
    let task = spawn { await outsideRuns { await self.runStages() } }
    let isLate = state.withLock { state in
      if !state.machine.isOver { state.task = task }
      return state.machine.isOver
    }
    if isLate { task.cancel() }
  }

  private func runStages() async {
    var iterator = stages.makeAsyncIterator()
    do {
      // The first stage exists before the run.
      _ = try await iterator.next(isolation: nil)
      while await isToProduce() {
        guard let stage = try await iterator.next(isolation: nil) else { return end(.completed) }
        switch state.withLock({ $0.machine.reach(stage) }) {
        case .discard: break
        case .wake(let consumers, releasing: _): for consumer in consumers { consumer.settle(()) }
        }
      }
    } catch {
      end(.failed(error))
    }
  }

  private func isToProduce() async -> Bool {
    while true {
      let waiter = Once<Void>()
      switch state.withLock({ $0.machine.produce(waiter: waiter) }) {
      case .produce: return true
      case .stop: return false
      case .wait: _ = await waiter.value()
      }
    }
  }

  private func end(_ ending: Machine.Ending) {
    let (consumers, _) = state.withLock { state in (state.machine.end(ending), state.task.take()) }
    for consumer in consumers { consumer.settle(()) }
  }
}

/// One consumer, which leaves when it is released.
final class SharingConsumer<P: Progression>: Sendable {
  private let storage: SharingStorage<P>
  private let id: SharingStorage<P>.Machine.ConsumerID

  init(_ storage: SharingStorage<P>) {
    self.storage = storage
    id = storage.join()
  }

  deinit { storage.leave(id) }

  nonisolated(nonsending) func next() async throws -> P? { try await storage.next(id) }
}
