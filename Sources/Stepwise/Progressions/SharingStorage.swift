// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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
    let (departure, task) = state.withLock { state in
      let departure = state.machine.leave(id)
      guard case .stop = departure else { return (departure, Task<Void, Never>?.none) }
      return (departure, state.task.take())
    }
    switch departure {
    case .nothing: break
    case .begin: begin()
    case .produce(let waiter): waiter.settle(())
    case .stop(let waiter):
      task?.cancel()
      waiter?.settle(())
    }
  }

  /// Waits for a stage newer than the consumer's last one.
  ///
  /// The consumer has left when this returns nil or throws.
  nonisolated(nonsending) func next(_ id: Machine.ConsumerID) async throws -> P? {
    while !Task.isCancelled {
      let (answer, waiter) = state.withLock { $0.machine.ask(id, waiter: Once()) }
      switch answer {
      case .stage(let stage): return stage
      case .ended(.completed): return nil
      case .ended(.failed(let error)): throw error
      case .ended(.abandoned): throw CancellationError()
      case .wait(let isFirst, let producer):
        producer?.settle(())
        if isFirst { begin() }
        _ = await waiter?.value()
      }
    }
    throw CancellationError()
  }

  // MARK: - The run

  private func begin() {
    let task = spawn { await self.produce() }
    let isLate = state.withLock { state in
      if state.machine.ending == nil { state.task = task }
      return state.machine.ending != nil
    }
    if isLate { task.cancel() }
  }

  /// Works on the stages, isolated from the cancellation and the step context of the consumers.
  private func produce() async {
    await CancellationScope.$current.withValue(nil) {
      await StepContext.$current.withValue(nil) { await runStages() }
    }
  }

  private func runStages() async {
    var iterator = stages.makeAsyncIterator()
    do {
      // The first stage exists before the run.
      _ = try await iterator.next()
      while await isToProduce() {
        guard let stage = try await iterator.next() else { return end(.completed) }
        for waiter in state.withLock({ $0.machine.reach(stage) }).woken { waiter.settle(()) }
      }
    } catch {
      end(.failed(error))
    }
  }

  private func isToProduce() async -> Bool {
    while true {
      let waiter = Once<Void>()
      switch state.withLock({ $0.machine.turn(waiter: waiter) }) {
      case .produce: return true
      case .stop: return false
      case .wait: _ = await waiter.value()
      }
    }
  }

  private func end(_ ending: Machine.Ending) {
    let (woken, _) = state.withLock { state in (state.machine.end(ending), state.task.take()) }
    for waiter in woken { waiter.settle(()) }
  }
}

/// One consumer; it leaves when its iteration ends and when it is released.
final class SharingConsumer<P: Progression>: Sendable {
  private let storage: SharingStorage<P>
  private let id: SharingStorage<P>.Machine.ConsumerID
  private let isOver = Lock(false)

  init(_ storage: SharingStorage<P>) {
    self.storage = storage
    id = storage.join()
  }

  deinit { storage.leave(id) }

  nonisolated(nonsending) func next() async throws -> P? {
    if isOver.withLock({ $0 }) { return nil }
    do {
      if let stage = try await storage.next(id) { return stage }
    } catch {
      leave()
      throw error
    }
    leave()
    return nil
  }

  private func leave() {
    isOver.withLock { $0 = true }
    storage.leave(id)
  }
}
