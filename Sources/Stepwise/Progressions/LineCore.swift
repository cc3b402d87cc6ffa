// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A production line without its types: the machine behind a lock, and the Tasks that work.
///
/// Only its workers, its line and who takes results keep it alive.
@usableFromInline
final class LineCore: Sendable {
  private let machine: Lock<LineMachine<LineWork, LineWork.Product, Once<Void>>>

  init(maxConcurrent: Int) {
    machine = Lock(LineMachine(maxConcurrent: maxConcurrent))
  }

  @usableFromInline
  func add(_ work: LineWork) -> Bool {
    let (isAdded, work) = machine.withLock { machine in (machine.add(work), machine.hire()) }
    if let work { begin(work) }
    return isAdded
  }

  func suspend() { machine.withLock { $0.suspend() } }

  func resume() {
    machine.withLock { $0.resume() }
    hire()
  }

  func clearPending() -> [LineWork] {
    let (dropped, woken) = machine.withLock { $0.clearPending() }
    for waiter in woken { waiter.settle(()) }
    return dropped
  }

  func finish() {
    for waiter in machine.withLock({ $0.finish() }) { waiter.settle(()) }
  }

  /// Waits for work that is done; nil after the last, and when the Task that waits is cancelled.
  @usableFromInline
  nonisolated(nonsending) func take() async -> LineWork.Product? {
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
  private func begin(_ work: LineWork) {
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
    var next: LineWork? = first
    while let work = next {
      let product = await work.perform()
      let (following, woken) = machine.withLock { $0.finishWork(with: product) }
      for waiter in woken { waiter.settle(()) }
      next = following
    }
  }
}

/// A progression in a line, without its type.
@usableFromInline
struct LineWork: Sendable {
  /// A `LineProduct`.
  @usableFromInline typealias Product = any AnyObject & Sendable

  /// A `LineJob`.
  let job: any AnyObject & Sendable
  let perform: @Sendable () async -> Product

  @usableFromInline
  init(_ job: any AnyObject & Sendable, perform: @escaping @Sendable () async -> Product) {
    self.job = job
    self.perform = perform
  }
}

/// A progression as it was added to a line.
@usableFromInline
final class LineJob<P: Progression>: Sendable {
  @usableFromInline let progression: P

  @inlinable
  init(_ progression: P) {
    self.progression = progression
  }

  /// Runs the progression.
  @inlinable
  func perform() async -> LineProduct<P> {
    do {
      return LineProduct((progression, .success(try await progression.run())))
    } catch {
      return LineProduct((progression, .failure(error)))
    }
  }
}

/// What a progression in a line resulted in.
@usableFromInline
final class LineProduct<P: Progression>: Sendable {
  @usableFromInline let element: ProductionLine<P>.Results.Element

  @inlinable
  init(_ element: ProductionLine<P>.Results.Element) {
    self.element = element
  }
}
