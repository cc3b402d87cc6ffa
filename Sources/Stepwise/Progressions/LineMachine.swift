// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides what a production line does next.
///
/// A worker runs one progression after another. It parks while the buffer of products is full and is reused when there
/// is room: with a `Gate`, and thus a task for each progression, a short one takes 20 µs instead of 6. A consumer
/// without a product leaves a waiter; the machine wakes it after a change, and it tries again.
struct LineMachine<Work, Product, Waiter, Worker>: ~Copyable {
  private enum State: ~Copyable {
    case working(Floor)
    /// The line accepts no further work, and the last product has been taken.
    case ended
  }

  private var state: State

  init(maxConcurrent: Int) {
    self.init(.working(Floor(limit: max(1, maxConcurrent))))
  }

  private init(_ state: consuming State) {
    self.state = state
  }

  /// Work that starts now.
  enum Start {
    case new(Work)
    case parked(Worker, Work)
  }

  enum AddAction {
    case refuse
    case keep
    case start(Start)
  }

  mutating func add(_ work: Work) -> AddAction {
    withFloor { floor in
      guard floor.isOpen else { return .refuse }
      _ = floor.pending.append(work)
      return floor.start().map { .start($0) } ?? .keep
    } ?? .refuse
  }

  /// What a worker does after its work; the waiters are woken first.
  enum WorkAction {
    /// Continues with other work; a parked worker has nothing left to do.
    case work(Work, wake: [Waiter], dismiss: Worker?)
    /// There is work, but no room for its product.
    case park(wake: [Waiter])
    case leave(wake: [Waiter])
  }

  mutating func finishWork(with product: Product) -> WorkAction {
    withFloor { floor in
      floor.running -= 1
      _ = floor.products.append(product)
      let woken = floor.wake()
      if let work = floor.beginWork() {
        return .work(work, wake: woken, dismiss: floor.isWorkerNeeded(for: 0) ? nil : floor.parked.popLast())
      }
      return floor.isWorkerNeeded(for: 1) ? .park(wake: woken) : .leave(wake: woken)
    } ?? .leave(wake: [])
  }

  enum ParkAction {
    case suspend
    /// Since it was told to park, others have started its work, or the work was dropped.
    case leave
  }

  mutating func park(_ worker: Worker) -> ParkAction {
    withFloor { floor in
      guard floor.isWorkerNeeded(for: 1) else { return .leave }
      floor.parked.append(worker)
      return .suspend
    } ?? .leave
  }

  enum TakeAction {
    case product(Product, start: [Start])
    case wait(Waiter)
    case end
  }

  /// Removes and returns the oldest product.
  mutating func take(waiter: @autoclosure () -> Waiter) -> TakeAction {
    withFloor { floor in
      if let product = floor.products.popFirst() { return .product(product, start: floor.startAll()) }
      let new = waiter()
      floor.waiters.append(new)
      return .wait(new)
    } ?? .end
  }

  /// A waiter has left.
  ///
  /// Returns the waiters to wake, so that they try again.
  mutating func leave() -> [Waiter] { withFloor { $0.wake() } ?? [] }

  mutating func suspend() { withFloor { $0.isSuspended = true } }

  /// Returns the work that starts now.
  mutating func resume() -> [Start] {
    withFloor { floor in
      floor.isSuspended = false
      return floor.startAll()
    } ?? []
  }

  /// What remains to be done once the work that has not started is dropped.
  struct ClearAction {
    var dropped: [Work] = []
    var wake: [Waiter] = []
    var dismiss: [Worker] = []
  }

  mutating func clearPending() -> ClearAction {
    withFloor { floor in
      let dropped = floor.pending.removeAll()
      return ClearAction(
        dropped: dropped,
        wake: floor.isEmpty ? floor.wake() : [],
        dismiss: exchange(&floor.parked, with: [])
      )
    } ?? ClearAction()
  }

  /// Accepts no further work.
  ///
  /// Returns the waiters to wake.
  mutating func finish() -> [Waiter] {
    withFloor { floor in
      floor.isOpen = false
      return floor.isEmpty ? floor.wake() : []
    } ?? []
  }

  /// Returns nil once the line has ended.
  @discardableResult
  private mutating func withFloor<Result>(_ change: (inout Floor) -> Result) -> Result? {
    switch consume state {
    case .working(var floor):
      let result = change(&floor)
      self = Self(floor.isOpen || !floor.isEmpty ? .working(floor) : .ended)
      return result
    case .ended:
      self = Self(.ended)
      return nil
    }
  }

  /// The work of a line that has not ended.
  ///
  /// After each event, no pending work could start, and there are no more parked workers than pending work.
  private struct Floor {
    let limit: Int
    var pending = OrderedSlots<Work>()
    /// The number of workers that run a progression.
    var running = 0
    var parked: [Worker] = []
    var products = OrderedSlots<Product>()
    /// Empty while there are products.
    var waiters: [Waiter] = []
    var isSuspended = false
    /// Whether further work is accepted.
    var isOpen = true

    init(limit: Int) {
      self.limit = limit
    }

    var isEmpty: Bool { running == 0 && pending.isEmpty && products.isEmpty }

    /// Whether there is pending work for all parked workers and some others.
    func isWorkerNeeded(for others: Int) -> Bool { parked.count + others <= pending.count }

    mutating func beginWork() -> Work? {
      guard !isSuspended, running < limit, products.count < limit, let work = pending.popFirst() else { return nil }
      running += 1
      return work
    }

    mutating func start() -> Start? {
      guard let work = beginWork() else { return nil }
      return parked.popLast().map { .parked($0, work) } ?? .new(work)
    }

    mutating func startAll() -> [Start] {
      var starts: [Start] = []
      while let start = start() { starts.append(start) }
      return starts
    }

    mutating func wake() -> [Waiter] {
      defer { waiters.removeAll(keepingCapacity: true) }
      return waiters
    }
  }
}
