// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides what a production line does next.
///
/// A worker runs one progression after another. It parks while the buffer of products is full and is reused when there
/// is room. A consumer without a product leaves a waiter; the machine wakes it after a change, and it tries again.
struct LineMachine<Work, Product, Waiter, Worker> {
  /// Work that starts now, and the parked worker that runs it; nil for a new worker.
  typealias Start = (work: Work, worker: Worker?)

  enum Take {
    case product(Product)
    case wait(Waiter)
    case ended
  }

  enum Next {
    case work(Work)
    /// There is work, but no room for its product.
    case park
    case leave
  }

  enum Parking {
    case suspend
    /// Room has become available; nil when there is nothing left to do.
    case resume(Work?)
  }

  private let maxConcurrent: Int
  private var pending = OrderedSlots<Work>()
  private var products = OrderedSlots<Product>()
  private var waiters: [Waiter] = []
  private var parked: [Worker] = []
  /// The number of workers that run a progression.
  private var runningCount = 0
  private var isSuspended = false
  private var isFinished = false

  init(maxConcurrent: Int) {
    self.maxConcurrent = max(1, maxConcurrent)
  }

  private var hasEnded: Bool { isFinished && runningCount == 0 && pending.isEmpty && products.isEmpty }

  /// Returns whether the work is accepted.
  mutating func add(_ work: Work) -> Bool {
    guard !isFinished else { return false }
    _ = pending.append(work)
    return true
  }

  /// Returns all work that starts now.
  ///
  /// Call it after every event that may have made room.
  mutating func hire() -> [Start] {
    var starts: [Start] = []
    while let work = beginWork() { starts.append((work, parked.popLast())) }
    return starts
  }

  /// A worker has finished its work.
  ///
  /// Returns its next action and the waiters to wake.
  mutating func finishWork(with product: Product) -> (Next, [Waiter]) {
    _ = products.append(product)
    runningCount -= 1
    if let work = beginWork() { return (.work(work), wake()) }
    return (pending.isEmpty ? .leave : .park, wake())
  }

  /// A worker parks after it received `park`.
  mutating func park(_ worker: Worker) -> Parking {
    if pending.isEmpty { return .resume(nil) }
    if let work = beginWork() { return .resume(work) }
    parked.append(worker)
    return .suspend
  }

  /// Returns the parked workers that have nothing left to do.
  ///
  /// Call it whenever work was assigned or dropped.
  mutating func dismiss() -> [Worker] {
    guard pending.isEmpty, !parked.isEmpty else { return [] }
    defer { parked = [] }
    return parked
  }

  /// Removes and returns the oldest product.
  mutating func take(waiter: @autoclosure () -> Waiter) -> Take {
    if let product = products.popFirst() { return .product(product) }
    if hasEnded { return .ended }
    let new = waiter()
    waiters.append(new)
    return .wait(new)
  }

  /// A waiter has left.
  ///
  /// Returns the waiters to wake, so that they try again.
  mutating func leave() -> [Waiter] { wake() }

  mutating func suspend() { isSuspended = true }
  mutating func resume() { isSuspended = false }

  /// Drops the work that has not started.
  ///
  /// Returns it and the waiters to wake.
  mutating func clearPending() -> ([Work], [Waiter]) {
    (pending.removeAll(), hasEnded ? wake() : [])
  }

  /// Accepts no further work.
  ///
  /// Returns the waiters to wake.
  mutating func finish() -> [Waiter] {
    isFinished = true
    return hasEnded ? wake() : []
  }

  private mutating func beginWork() -> Work? {
    guard !isSuspended, runningCount < maxConcurrent, products.count < maxConcurrent else { return nil }
    guard let work = pending.popFirst() else { return nil }
    runningCount += 1
    return work
  }

  private mutating func wake() -> [Waiter] {
    defer { waiters.removeAll(keepingCapacity: true) }
    return waiters
  }
}
