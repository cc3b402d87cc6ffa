// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides what a production line does next.
///
/// A worker is whoever runs progressions, one after the other. Who waits for a result leaves a waiter, is woken when
/// something has changed, and asks again.
struct LineMachine<Work, Product, Waiter> {
  enum Take {
    case product(Product)
    case wait(Waiter)
    case ended
  }

  private let maxConcurrent: Int
  private var pending = OrderedSlots<Work>()
  private var products = OrderedSlots<Product>()
  private var waiters: [Waiter] = []
  private(set) var workerCount = 0
  private var isSuspended = false
  private var isFinished = false

  init(maxConcurrent: Int) {
    self.maxConcurrent = max(1, maxConcurrent)
  }

  var pendingCount: Int { pending.count }
  var productCount: Int { products.count }

  private var hasEnded: Bool { isFinished && workerCount == 0 && pending.isEmpty && products.isEmpty }

  /// Returns whether the work is accepted.
  mutating func add(_ work: Work) -> Bool {
    guard !isFinished else { return false }
    _ = pending.append(work)
    return true
  }

  /// Gives work to a new worker; nil when none is needed.
  ///
  /// To be asked after everything that may have made room, until it says no.
  mutating func hire() -> Work? {
    guard workerCount < maxConcurrent, let work = nextWork() else { return nil }
    workerCount += 1
    return work
  }

  /// A worker is done with its work; returns what it is to do next, and whom to wake.
  ///
  /// Without further work the worker is gone.
  mutating func finishWork(with product: Product) -> (Work?, [Waiter]) {
    _ = products.append(product)
    let work = nextWork()
    if work == nil { workerCount -= 1 }
    return (work, wake())
  }

  private mutating func nextWork() -> Work? {
    isSuspended || products.count >= maxConcurrent ? nil : pending.popFirst()
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

  private mutating func wake() -> [Waiter] {
    defer { waiters.removeAll(keepingCapacity: true) }
    return waiters
  }
}
