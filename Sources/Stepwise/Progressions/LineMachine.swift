// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides what a production line does next.
///
/// A worker runs one progression after another. It parks while the buffer of products is full and is reused when there
/// is room: with a `Gate`, and thus a task for each progression, a short one takes 20 µs instead of 6. Only one parked
/// worker is woken at a time. When it arrives, it takes work and wakes the next. By then a fast consumer may have made
/// room for several progressions. A consumer without a product leaves a waiter; the machine wakes it after a change,
/// and it tries again.
///
/// After each event no pending work could start, unless a worker that was woken has not arrived.
struct LineMachine<Work, Product, Waiter, Worker> {
  private let limit: Int
  private var pending = OrderedSlots<Work>()
  /// The number of workers that run a progression.
  private var running = 0
  /// Empty while no work is pending.
  private var parked: [Worker] = []
  /// Whether a parked worker was woken and has not arrived.
  private var isWaking = false
  private var products = OrderedSlots<Product>()
  /// Empty while there are products.
  private var waiters: [Waiter] = []
  private var isSuspended = false
  /// Whether further work is accepted.
  private var isOpen = true

  init(maxConcurrent: Int) {
    limit = max(1, maxConcurrent)
  }

  private var isEmpty: Bool { running == 0 && pending.isEmpty && products.isEmpty }

  /// How pending work starts.
  enum Start {
    case new(Work)
    /// The worker arrives, and then takes the work.
    case wake(Worker)
  }

  enum AddAction {
    case refuse
    case keep
    case start(Start)
  }

  mutating func add(_ work: Work) -> AddAction {
    guard isOpen else { return .refuse }
    pending.append(work)
    return start().map { .start($0) } ?? .keep
  }

  /// What a worker does next; the waiters and the other workers are woken first.
  enum WorkAction {
    case work(Work, wake: [Waiter], start: [Start], dismiss: [Worker])
    /// There is work, but no room for its product.
    case park(wake: [Waiter])
    case leave(wake: [Waiter])
  }

  mutating func finishWork(with product: Product) -> WorkAction {
    precondition(running > 0, "A production line received a product while no worker was running.")
    running -= 1
    products.append(product)
    return continueWorking(wake: wake())
  }

  /// A worker that was woken is ready.
  mutating func arrive() -> WorkAction {
    isWaking = false
    return continueWorking(wake: [])
  }

  private mutating func continueWorking(wake: [Waiter]) -> WorkAction {
    guard let work = beginWork() else { return pending.isEmpty ? .leave(wake: wake) : .park(wake: wake) }
    return .work(work, wake: wake, start: startAll(), dismiss: pending.isEmpty ? exchange(&parked, with: []) : [])
  }

  /// Parks a worker, or returns false when others have meanwhile started its work, or the work was dropped.
  mutating func park(_ worker: Worker) -> Bool {
    if pending.isEmpty { return false }
    parked.append(worker)
    return true
  }

  enum TakeAction {
    case product(Product, start: Start?)
    case none
    case end
  }

  /// Removes and returns the oldest product.
  mutating func take() -> TakeAction {
    if let product = products.popFirst() { return .product(product, start: start()) }
    return isOpen || !isEmpty ? .none : .end
  }

  /// Adds a consumer's waiter, or returns false when it should try again.
  mutating func wait(_ waiter: Waiter) -> Bool {
    guard products.isEmpty, isOpen || !isEmpty else { return false }
    waiters.append(waiter)
    return true
  }

  /// A waiter has left.
  ///
  /// Returns the waiters to wake, which then try again.
  mutating func leave() -> [Waiter] { wake() }

  mutating func suspend() { isSuspended = true }

  mutating func resume() -> [Start] {
    isSuspended = false
    return startAll()
  }

  /// Drops the work that has not started.
  mutating func clearPending() -> (dropped: [Work], wake: [Waiter], dismiss: [Worker]) {
    let dropped = pending.removeAll()
    return (dropped, isEmpty ? wake() : [], exchange(&parked, with: []))
  }

  /// Accepts no further work.
  ///
  /// Returns the waiters to wake.
  mutating func finish() -> [Waiter] {
    isOpen = false
    return isEmpty ? wake() : []
  }

  private var hasRoom: Bool { !isSuspended && running < limit && products.count < limit }

  private mutating func beginWork() -> Work? {
    guard hasRoom, let work = pending.popFirst() else { return nil }
    running += 1
    return work
  }

  private mutating func start() -> Start? {
    guard !isWaking, hasRoom, !pending.isEmpty else { return nil }
    guard let worker = parked.popLast() else { return beginWork().map { .new($0) } }
    isWaking = true
    return .wake(worker)
  }

  private mutating func startAll() -> [Start] {
    var starts: [Start] = []
    while let start = start() { starts.append(start) }
    return starts
  }

  private mutating func wake() -> [Waiter] { waiters.isEmpty ? [] : exchange(&waiters, with: []) }
}
