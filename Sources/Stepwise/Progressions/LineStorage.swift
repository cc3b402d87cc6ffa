// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A production line: the machine behind a lock, and the Tasks that work.
///
/// Only its workers, its line and who takes results keep it alive.
final class LineStorage<P: Progression>: Sendable {
  typealias Product = ProductionLine<P>.Results.Element

  private let machine: Lock<LineMachine<P, Product, Once<Void>>>

  init(maxConcurrent: Int) {
    machine = Lock(LineMachine(maxConcurrent: maxConcurrent))
  }

  func add(_ progression: P) -> Bool {
    let (isAdded, work) = machine.withLock { machine in (machine.add(progression), machine.hire()) }
    if let work { begin(work) }
    return isAdded
  }

  func suspend() { machine.withLock { $0.suspend() } }

  func resume() {
    machine.withLock { $0.resume() }
    hire()
  }

  func clearPending() -> [P] {
    let (dropped, woken) = machine.withLock { $0.clearPending() }
    for waiter in woken { waiter.settle(()) }
    return dropped
  }

  func finish() {
    for waiter in machine.withLock({ $0.finish() }) { waiter.settle(()) }
  }

  /// Waits for a result; nil after the last, and when the Task that waits is cancelled.
  nonisolated(nonsending) func take() async -> Product? {
    while !Task.isCancelled {
      let (taken, work) = machine.withLock { machine in (machine.take(waiter: Once()), machine.hire()) }
      if let work {
        begin(work)
        hire()
      }
      switch taken {
      case .product(let product): return product
      case .ended: return nil
      case .wait(let waiter): if await waiter.value() == nil { leave() }
      }
    }
    return nil
  }

  private func leave() {
    for waiter in machine.withLock({ $0.leave() }) { waiter.settle(()) }
  }

  // MARK: - Workers

  private func hire() {
    while let work = machine.withLock({ $0.hire() }) { begin(work) }
  }

  /// Makes a worker; nothing that asks one of those who added to stop reaches it, nor does it report for one of them.
  private func begin(_ work: P) {
    _ = spawn {
      await CancellationScope.$current.withValue(nil) {
        await StepContext.$current.withValue(nil) { await self.work(on: work) }
      }
    }
  }

  private func work(on first: P) async {
    var next: P? = first
    while let progression = next {
      let result = await Result.of { try await progression.run() }
      let (work, woken) = machine.withLock { $0.finishWork(with: (progression, result)) }
      for waiter in woken { waiter.settle(()) }
      next = work
    }
  }
}
