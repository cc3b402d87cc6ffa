// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A production line without its types: the state machine behind a lock, and the tasks of its workers.
///
/// The workers retain the core. Clients therefore hold a ``LineHandle``.
final class LineCore: Sendable {
  /// An unsafe continuation for speed.
  ///
  /// The machine hands out each parked worker once, so it is resumed once.
  private typealias Worker = UnsafeContinuation<LineWork?, Never>

  private let machine: Lock<LineMachine<LineWork, LineWork.Product, Once<Void>, Worker>>

  init(maxConcurrent: Int) {
    machine = Lock(LineMachine(maxConcurrent: maxConcurrent))
  }

  func add(_ work: LineWork) -> Bool {
    let (isAdded, starts, dismissed) = machine.withLock { machine in
      (machine.add(work), machine.hire(), machine.dismiss())
    }
    begin(starts, dismissed)
    return isAdded
  }

  func suspend() { machine.withLock { $0.suspend() } }

  func resume() {
    let (starts, dismissed) = machine.withLock { machine in
      machine.resume()
      return (machine.hire(), machine.dismiss())
    }
    begin(starts, dismissed)
  }

  func clearPending() -> [LineWork] {
    let ((dropped, woken), dismissed) = machine.withLock { machine in (machine.clearPending(), machine.dismiss()) }
    for waiter in woken { waiter.settle(()) }
    begin([], dismissed)
    return dropped
  }

  func finish() {
    for waiter in machine.withLock({ $0.finish() }) { waiter.settle(()) }
  }

  /// Waits for a product.
  ///
  /// Returns nil after the last one, and when the waiting task is cancelled.
  nonisolated(nonsending) func take() async -> LineWork.Product? {
    while !Task.isCancelled {
      let (taken, starts, dismissed) = machine.withLock { machine in
        (machine.take(waiter: Once()), machine.hire(), machine.dismiss())
      }
      begin(starts, dismissed)
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

  private func begin(_ starts: [(work: LineWork, worker: Worker?)], _ dismissed: [Worker]) {
    for worker in dismissed { worker.resume(returning: nil) }
    for (work, worker) in starts {
      if let worker { worker.resume(returning: work) } else { hire(for: work) }
    }
  }

  /// Starts a worker, which is isolated from the cancellation and the step context of the task that adds work.
  private func hire(for work: LineWork) {
    if CancellationScope.current == nil, StepContext.current == nil {
      _ = spawn { await self.work(on: work) }
      return
    }
    _ = spawn {
      await CancellationScope.$current.withValue(nil) {
        await StepContext.$current.withValue(nil) { await self.work(on: work) }
      }
    }
  }

  private func work(on first: LineWork) async {
    var current: LineWork? = first
    while let work = current {
      let product = await work.perform()
      let ((next, woken), dismissed) = machine.withLock { machine in
        (machine.finishWork(with: product), machine.dismiss())
      }
      for waiter in woken { waiter.settle(()) }
      begin([], dismissed)
      switch next {
      case .work(let work): current = work
      case .park: current = await park()
      case .leave: return
      }
    }
  }

  private func park() async -> LineWork? {
    await withUnsafeContinuation { worker in
      if case .resume(let work) = machine.withLock({ $0.park(worker) }) { worker.resume(returning: work) }
    }
  }
}
