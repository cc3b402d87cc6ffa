// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs more progressions than may run at once, in the order in which you add them, and delivers their results.
///
/// Use this for work that keeps arriving, when you want to limit how much of it runs at once.
///
/// ```swift
/// let line = ProductionLine<FileOpen>(maxConcurrent: 4)
/// for url in urls { line.add(.read(url)) }
/// line.finish()
/// for await (progression, result) in line.results { show(progression, result) }
/// ```
///
/// The line buffers as many results as progressions may run concurrently. While the buffer is full, no further
/// progression starts. A slow consumer therefore limits memory: the line holds at most that many results, plus at most
/// one result per running progression. Releasing the line resumes it and finishes it, like ``resume()`` followed by
/// ``finish()``.
public final class ProductionLine<P: Progression>: Sendable {
  @usableFromInline let handle: LineHandle

  /// Creates an empty line; a limit below one counts as one.
  public init(maxConcurrent: Int) {
    handle = LineHandle(maxConcurrent: maxConcurrent)
  }

  deinit {
    // No reference is left through which the line could be resumed.
    handle.core.resume()
    handle.core.finish()
  }

  /// Adds a progression, which starts immediately or when there is room.
  ///
  /// This method does not suspend. A progression inherits the priority, the task-local values and the executor
  /// preference of the call that starts it: `add`, `resume` or the iterator's `next`.
  ///
  /// - Returns: A Boolean value that indicates whether the line accepted the progression: `false` after ``finish()``.
  @inlinable
  @discardableResult
  public func add(_ progression: P) -> Bool {
    // Safety: the work returns and receives what was boxed here; debug builds check it.
    handle.core.add(LineWork(Box(progression)) { await unsafeDowncast($0, to: Box<P>.self).value.lineProduct() })
  }

  /// Starts no further progression until ``resume()``; running progressions continue.
  public func suspend() { handle.core.suspend() }

  /// Resumes the line after ``suspend()``.
  public func resume() { handle.core.resume() }

  /// Drops the progressions that have not started, and returns them in order; they deliver no result.
  @discardableResult
  public func clearPending() -> [P] {
    handle.core.clearPending().compactMap { ($0.progression as? Box<P>)?.value }
  }

  /// Accepts no further progression; ``results`` ends after the last result.
  public func finish() { handle.core.finish() }

  /// The results of the progressions, in the order of completion, for one consumer.
  public var results: Results { Results(handle: handle) }

  /// The results of a line, as an asynchronous sequence for one consumer.
  ///
  /// Iterating removes the results from the line, so a second consumer would receive the results that the first one
  /// misses. The sequence ends after ``ProductionLine/finish()``, or when the iterating task is cancelled. Cancellation
  /// of the consumer does not change the line. Iterating does not throw; each element carries its error.
  public struct Results: AsyncSequence, Sendable {
    @usableFromInline let handle: LineHandle

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(handle: handle) }

    /// An iterator that removes results from the line.
    public struct Iterator: AsyncIteratorProtocol {
      @usableFromInline let handle: LineHandle

      /// Waits for the next result, and returns it with the progression as it was added; returns nil after the last one.
      @inlinable
      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async -> (progression: P, result: Result<P.Result, any Error>)? {
        guard let product = await handle.core.take() else { return nil }
        // Safety: a line delivers what its work has boxed; debug builds check it.
        return unsafeDowncast(product, to: Box<Element>.self).value
      }
    }
  }
}

@available(*, unavailable)
extension ProductionLine.Results.Iterator: Sendable {}

/// A progression in a line, with its type erased.
@usableFromInline
struct LineWork: Sendable {
  let progression: any AnyBox
  /// A closure that the user's module creates, where the compiler can specialize it for the type.
  ///
  /// It boxes an element of ``ProductionLine/Results``, and captures nothing: it needs no memory.
  let perform: @concurrent @Sendable (any AnyBox) async -> any AnyBox

  @usableFromInline
  init(_ progression: any AnyBox, perform: @concurrent @escaping @Sendable (any AnyBox) async -> any AnyBox) {
    self.progression = progression
    self.perform = perform
  }
}

extension Progression {
  /// Runs the progression for a line.
  ///
  /// It checks for no cancellation, because no one can cancel a worker.
  @concurrent @inlinable
  func lineProduct() async -> Box<ProductionLine<Self>.Results.Element> {
    var stage = self
    do {
      while true {
        if let result = stage.result { return Box((self, .success(result))) }
        stage = try await stage.next()
      }
    } catch {
      return Box((self, .failure(error)))
    }
  }
}

/// A production line without its types: the state machine behind a lock, and the tasks of its workers.
///
/// The workers retain the core. Clients therefore hold a ``LineHandle``.
@usableFromInline
final class LineCore: Sendable {
  /// An unsafe continuation for speed.
  ///
  /// The machine hands out each parked worker once, so it is resumed once.
  private typealias Worker = UnsafeContinuation<Void, Never>
  private typealias Machine = LineMachine<LineWork, any AnyBox, Once<Void>, Worker>

  private let machine: Lock<Machine>

  init(maxConcurrent: Int) {
    machine = Lock(Machine(maxConcurrent: maxConcurrent))
  }

  @usableFromInline
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
    action.wake?.settle(())
    for worker in action.dismiss { worker.resume() }
    return action.dropped
  }

  func finish() { machine.withLock { $0.finish() }?.settle(()) }

  /// Waits for a product; returns nil after the last one, and when the waiting task is cancelled.
  @usableFromInline
  func take() async -> (any AnyBox)? {
    while !Task.isCancelled {
      switch machine.withLock({ $0.take(waiter: Once()) }) {
      case .product(let product, let start):
        if let start { begin(start) }
        return product
      case .wait(let waiter): _ = await waiter.value()
      case .end: return nil
      }
    }
    return nil
  }

  // MARK: - Workers

  /// A new worker is isolated from the cancellation and the step context of the task that makes work start.
  private func begin(_ start: Machine.Start) {
    switch start {
    case .wake(let worker): worker.resume()
    case .new(let work): _ = spawn { await outsideRuns { await self.work(on: work) } }
    }
  }

  @concurrent private func work(on first: LineWork) async {
    var current: LineWork? = first
    while true {
      let action: (next: Machine.WorkAction, wake: Once<Void>?)
      if let work = current {
        let product = await work.perform(work.progression)
        action = machine.withLock { $0.finishWork(with: product) }
      } else {
        action = (machine.withLock { $0.arrive() }, wake: nil)
      }
      action.wake?.settle(())
      switch action.next {
      case .work(let work, let starts, let dismissed):
        starts.forEach(begin)
        for worker in dismissed { worker.resume() }
        current = work
      case .park:
        guard await park() else { return }
        current = nil
      case .leave: return
      }
    }
  }

  /// Returns whether the worker was parked; not when there is nothing left to do.
  @concurrent private func park() async -> Bool {
    var isParked = true
    await withUnsafeContinuation { worker in
      isParked = machine.withLock { $0.park(worker) }
      if !isParked { worker.resume() }
    }
    return isParked
  }
}

/// What a line and its results share.
///
/// When both are released, the line drops the progressions that have not started.
@usableFromInline
final class LineHandle: Sendable {
  @usableFromInline let core: LineCore

  init(maxConcurrent: Int) {
    core = LineCore(maxConcurrent: maxConcurrent)
  }

  deinit { _ = core.clearPending() }
}

/// Calls a closure as if no run, token or observer were around it.
func outsideRuns(_ body: () async -> Void) async {
  if Scope.current == nil { return await body() }
  await Scope.$current.withValue(nil) { await body() }
}

/// Decides what a production line does next.
///
/// A worker runs one progression after another. It parks while the buffer of products is full and is reused when there
/// is room: with a `Gate`, and thus a task for each progression, a short one takes 20 µs instead of 6. Only one parked
/// worker is woken at a time. When it arrives, it takes work and wakes the next. By then a fast consumer may have made
/// room for several progressions. A consumer without a product receives a waiter; the machine wakes it after a change,
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
  /// What consumers wait for; nil while there are products.
  private var waiter: Waiter?
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

  /// What a worker does next; the other workers are woken first.
  enum WorkAction {
    case work(Work, start: [Start], dismiss: [Worker])
    /// There is work, but no room for its product.
    case park
    case leave
  }

  /// A worker has run its work; returns what it does next, and the waiter to wake before.
  mutating func finishWork(with product: Product) -> (next: WorkAction, wake: Waiter?) {
    precondition(running > 0, "A production line received a product while no worker was running.")
    running -= 1
    products.append(product)
    return (continueWorking(), waiter.take())
  }

  /// A worker that was woken is ready.
  mutating func arrive() -> WorkAction {
    isWaking = false
    return continueWorking()
  }

  private mutating func continueWorking() -> WorkAction {
    guard let work = beginWork() else { return pending.isEmpty ? .leave : .park }
    return .work(work, start: startAll(), dismiss: pending.isEmpty ? exchange(&parked, with: []) : [])
  }

  /// Parks a worker, or returns false when others have started its work, or the work was dropped.
  mutating func park(_ worker: Worker) -> Bool {
    if pending.isEmpty { return false }
    parked.append(worker)
    return true
  }

  enum TakeAction {
    /// The oldest product.
    case product(Product, start: Start?)
    case wait(Waiter)
    case end
  }

  /// A consumer requests a product.
  mutating func take(waiter new: @autoclosure () -> Waiter) -> TakeAction {
    if let product = products.popFirst() { return .product(product, start: start()) }
    if !isOpen, isEmpty { return .end }
    let waiter = waiter ?? new()
    self.waiter = waiter
    return .wait(waiter)
  }

  mutating func suspend() { isSuspended = true }

  mutating func resume() -> [Start] {
    isSuspended = false
    return startAll()
  }

  /// Drops the work that has not started.
  mutating func clearPending() -> (dropped: [Work], wake: Waiter?, dismiss: [Worker]) {
    let dropped = pending.removeAll()
    return (dropped, isEmpty ? waiter.take() : nil, exchange(&parked, with: []))
  }

  /// Accepts no further work, and returns the waiter to wake.
  mutating func finish() -> Waiter? {
    isOpen = false
    return isEmpty ? waiter.take() : nil
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
}
