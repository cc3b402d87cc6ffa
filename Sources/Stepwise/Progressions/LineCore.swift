// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A production line without its types: the machine behind a lock, and the Tasks that work.
///
/// Only its workers, its line and who takes results keep it alive.
final class LineCore: Sendable {
  private let machine: Lock<LineMachine<any LineWork, any LineWork, Once<Void>>>

  init(maxConcurrent: Int) {
    machine = Lock(LineMachine(maxConcurrent: maxConcurrent))
  }

  func add(_ work: any LineWork) -> Bool {
    let (isAdded, work) = machine.withLock { machine in (machine.add(work), machine.hire()) }
    if let work { begin(work) }
    return isAdded
  }

  func suspend() { machine.withLock { $0.suspend() } }

  func resume() {
    machine.withLock { $0.resume() }
    hire()
  }

  func clearPending() -> [any LineWork] {
    let (dropped, woken) = machine.withLock { $0.clearPending() }
    for waiter in woken { waiter.settle(()) }
    return dropped
  }

  func finish() {
    for waiter in machine.withLock({ $0.finish() }) { waiter.settle(()) }
  }

  /// Waits for work that is done; nil after the last, and when the Task that waits is cancelled.
  nonisolated(nonsending) func take() async -> (any LineWork)? {
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
  private func begin(_ work: any LineWork) {
    _ = spawn {
      await CancellationScope.$current.withValue(nil) {
        await StepContext.$current.withValue(nil) { await self.work(on: work) }
      }
    }
  }

  private func work(on first: any LineWork) async {
    var next: (any LineWork)? = first
    while let work = next {
      await work.perform()
      let (following, woken) = machine.withLock { $0.finishWork(with: work) }
      for waiter in woken { waiter.settle(()) }
      next = following
    }
  }
}

/// A progression in a line.
protocol LineWork: AnyObject, Sendable {
  /// Runs it, and keeps what it resulted in.
  func perform() async
}

/// A progression in a line, and what it resulted in.
final class LineJob<P: Progression>: LineWork {
  let progression: P
  private let run: @Sendable (P) async throws -> P.Result
  private let outcome = Lock<Result<P.Result, any Error>?>(nil)

  init(_ progression: P, run: @escaping @Sendable (P) async throws -> P.Result) {
    self.progression = progression
    self.run = run
  }

  /// What it resulted in; nil before it was performed.
  var element: ProductionLine<P>.Results.Element? {
    outcome.withLock { $0 }.map { (progression, $0) }
  }

  func perform() async {
    let result: Result<P.Result, any Error>
    do { result = .success(try await run(progression)) } catch { result = .failure(error) }
    outcome.withLock { $0 = result }
  }
}
