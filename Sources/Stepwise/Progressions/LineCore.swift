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
  private typealias Machine = LineMachine<LineWork, any AnyBox, Once<Void>, Worker>

  private let machine: Lock<Machine>

  init(maxConcurrent: Int) {
    machine = Lock(Machine(maxConcurrent: maxConcurrent))
  }

  func add(_ work: LineWork) -> Bool {
    switch machine.withLock({ $0.add(work) }) {
    case .refuse: return false
    case .keep: break
    case .start(let start): begin(start)
    }
    return true
  }

  func suspend() { machine.withLock { $0.suspend() } }

  func resume() { machine.withLock { $0.resume() }.forEach(begin) }

  func clearPending() -> [LineWork] {
    let action = machine.withLock { $0.clearPending() }
    wake(action.wake)
    for worker in action.dismiss { worker.resume(returning: nil) }
    return action.dropped
  }

  func finish() { wake(machine.withLock { $0.finish() }) }

  /// Waits for a product.
  ///
  /// Returns nil after the last one, and when the waiting task is cancelled.
  nonisolated(nonsending) func take() async -> (any AnyBox)? {
    while !Task.isCancelled {
      switch machine.withLock({ $0.take(waiter: Once()) }) {
      case .product(let product, let starts):
        starts.forEach(begin)
        return product
      case .wait(let waiter):
        if await waiter.value() == nil { wake(machine.withLock { $0.leave() }) }
      case .end: return nil
      }
    }
    return nil
  }

  private func wake(_ waiters: [Once<Void>]) {
    for waiter in waiters { waiter.settle(()) }
  }

  // MARK: - Workers

  /// A new worker is isolated from the cancellation and the step context of the task that makes work start.
  private func begin(_ start: Machine.Start) {
    switch start {
    case .parked(let worker, let work): worker.resume(returning: work)
    case .new(let work): _ = spawn { await outsideRuns { await self.work(on: work) } }
    }
  }

  private func work(on first: LineWork) async {
    var current: LineWork? = first
    while let work = current {
      let product = await work.perform()
      switch machine.withLock({ $0.finishWork(with: product) }) {
      case .work(let work, let waiters, let dismissed):
        wake(waiters)
        dismissed?.resume(returning: nil)
        current = work
      case .park(let waiters):
        wake(waiters)
        current = await park()
      case .leave(let waiters):
        wake(waiters)
        return
      }
    }
  }

  private func park() async -> LineWork? {
    await withUnsafeContinuation { worker in
      switch machine.withLock({ $0.park(worker) }) {
      case .suspend: break
      case .leave: worker.resume(returning: nil)
      }
    }
  }
}

/// What a line and its results share.
///
/// When both are released, the line drops the progressions that have not started.
@usableFromInline
final class LineHandle: Sendable {
  let core: LineCore

  init(maxConcurrent: Int) {
    core = LineCore(maxConcurrent: maxConcurrent)
  }

  deinit { _ = core.clearPending() }

  @usableFromInline
  func add(_ work: LineWork) -> Bool { core.add(work) }

  @usableFromInline
  nonisolated(nonsending) func take() async -> (any AnyBox)? { await core.take() }
}

/// Calls a closure without the cancellation scope and the step context of the current task.
nonisolated(nonsending) func outsideRuns(_ body: nonisolated(nonsending) () async -> Void) async {
  if CancellationScope.current == nil, StepContext.current == nil { return await body() }
  await CancellationScope.$current.withValue(nil) {
    await StepContext.$current.withValue(nil) { await body() }
  }
}
