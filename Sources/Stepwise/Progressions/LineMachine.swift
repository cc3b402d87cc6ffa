// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides what a production line does next.
///
/// A worker is whoever runs progressions, one after the other. It parks when the shelf of products is full, and is used
/// again when there is room. Who waits for a product leaves a waiter, is woken when something has changed, and asks again.
struct LineMachine<Work, Product, Waiter, Worker> {
  /// Work that begins now, and the parked worker that does it; a new one when nil.
  typealias Start = (work: Work, worker: Worker?)

  enum Take {
    case product(Product)
    case wait(Waiter)
    case ended
  }

  enum Next {
    case work(Work)
    /// There is work, but no room for what it would result in.
    case park
    case leave
  }

  enum Parking {
    case suspend
    /// There is room meanwhile, or nil: nothing is left to do.
    case resume(Work?)
  }

  private let maxConcurrent: Int
  private var pending = OrderedSlots<Work>()
  private var products = OrderedSlots<Product>()
  private var waiters: [Waiter] = []
  private var parked: [Worker] = []
  /// How many workers run a progression.
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

  /// Returns all work that is to begin now; to be asked after everything that may have made room.
  mutating func hire() -> [Start] {
    var starts: [Start] = []
    while let work = beginWork() { starts.append((work, parked.popLast())) }
    return starts
  }

  /// A worker is done with its work; returns what it is to do next, and whom to wake.
  mutating func finishWork(with product: Product) -> (Next, [Waiter]) {
    _ = products.append(product)
    runningCount -= 1
    if let work = beginWork() { return (.work(work), wake()) }
    return (pending.isEmpty ? .leave : .park, wake())
  }

  /// A worker that was told to park.
  mutating func park(_ worker: Worker) -> Parking {
    if pending.isEmpty { return .resume(nil) }
    if let work = beginWork() { return .resume(work) }
    parked.append(worker)
    return .suspend
  }

  /// Returns the parked workers for whom there is nothing left; to be asked whenever work was given away or dropped.
  mutating func dismiss() -> [Worker] {
    guard pending.isEmpty, !parked.isEmpty else { return [] }
    defer { parked = [] }
    return parked
  }

  /// Takes the oldest product.
  mutating func take(waiter: @autoclosure () -> Waiter) -> Take {
    if let product = products.popFirst() { return .product(product) }
    if hasEnded { return .ended }
    let new = waiter()
    waiters.append(new)
    return .wait(new)
  }

  /// Somebody waits no longer; returns whom to wake, to ask again.
  mutating func leave() -> [Waiter] { wake() }

  mutating func suspend() { isSuspended = true }
  mutating func resume() { isSuspended = false }

  /// Drops what has not begun; returns it, and whom to wake.
  mutating func clearPending() -> ([Work], [Waiter]) {
    (pending.removeAll(), hasEnded ? wake() : [])
  }

  /// Accepts no more; returns whom to wake.
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
