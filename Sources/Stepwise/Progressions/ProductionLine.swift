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
  private let machine: Lock<LineMachine<LineWork, any AnyBox, Once<Void>>>

  init(maxConcurrent: Int) { machine = Lock(LineMachine(maxConcurrent: maxConcurrent)) }

  @usableFromInline
  func add(_ work: LineWork) -> Bool {
    guard let starting = machine.withLock({ $0.add(work) }) else { return false }
    starting.forEach(begin)
    return true
  }

  func suspend() { machine.withLock { $0.suspend() } }

  func resume() { machine.withLock { $0.resume() }.forEach(begin) }

  func clearPending() -> [LineWork] {
    let (dropped, wake) = machine.withLock { $0.clearPending() }
    wake?.settle(())
    return dropped
  }

  func finish() { machine.withLock { $0.finish() }?.settle(()) }

  /// Waits for a product; returns nil after the last one, and when the waiting task is cancelled.
  @usableFromInline
  func take() async -> (any AnyBox)? {
    while !Task.isCancelled {
      switch machine.withLock({ $0.take(waiter: Once()) }) {
      case .product(let product, let starting):
        if let starting { begin(starting) }
        return product
      case .wait(let waiter): _ = await waiter.value()
      case .end: return nil
      }
    }
    return nil
  }

  /// Starts a worker, isolated from the cancellation and the step context of the task that makes its work start.
  private func begin(_ work: LineWork) { _ = spawn { await outsideRuns { await self.work(on: work) } } }

  /// Runs one progression after another, until none may start.
  @concurrent private func work(on first: LineWork) async {
    if let starting = machine.withLock({ $0.beginWorker() }) { begin(starting) }
    var current: LineWork? = first
    while let work = current {
      let product = await work.perform(work.progression)
      let (next, wake) = machine.withLock { $0.finishWork(with: product) }
      wake?.settle(())
      current = next
    }
  }
}

/// What a line and its results share.
///
/// When both are released, the line drops the progressions that have not started.
@usableFromInline
final class LineHandle: Sendable {
  @usableFromInline let core: LineCore

  init(maxConcurrent: Int) { core = LineCore(maxConcurrent: maxConcurrent) }

  deinit { _ = core.clearPending() }
}

/// Calls a closure as if no run, token or observer were around it.
func outsideRuns(_ body: () async -> Void) async {
  if Scope.current.isOutside { return await body() }
  await Scope.$current.withValue(.outside, operation: body)
}

/// Decides what a production line does next.
///
/// A worker runs one progression after another, and ends when there is no room for a product. A taken product starts one
/// worker, which starts the next when it begins. By then a fast consumer may have made room for several progressions: with a
/// worker for each of them at once, a short one takes twice as long. A consumer without a product receives a waiter; the
/// machine wakes it after a change, and it tries again.
///
/// After each event no pending work could start, unless a worker is about to begin.
struct LineMachine<Work, Product, Waiter> {
  private let limit: Int
  private var pending = OrderedSlots<Work>()
  /// The number of workers, each of which runs a progression.
  private var running = 0
  private var products = OrderedSlots<Product>()
  /// What consumers wait for; nil while there are products.
  private var waiter: Waiter?
  /// Whether a worker was started that has not begun.
  private var isStarting = false
  private var isSuspended = false
  /// Whether further work is accepted.
  private var isOpen = true

  init(maxConcurrent: Int) { limit = max(1, maxConcurrent) }

  private var isEmpty: Bool { running == 0 && pending.isEmpty && products.isEmpty }

  /// Returns the work to start; nil when the line is finished and refuses the work.
  mutating func add(_ work: Work) -> [Work]? {
    guard isOpen else { return nil }
    pending.append(work)
    return startAll()
  }

  /// A worker begins; returns the work to start.
  mutating func beginWorker() -> Work? {
    isStarting = false
    return startNext()
  }

  /// A worker has run its work; returns what it runs next, and the waiter to wake before.
  mutating func finishWork(with product: Product) -> (next: Work?, wake: Waiter?) {
    precondition(running > 0, "A production line received a product while no worker was running.")
    running -= 1
    products.append(product)
    return (start(), waiter.take())
  }

  enum TakeAction {
    /// The oldest product, and the work to start.
    case product(Product, start: Work?)
    case wait(Waiter)
    case end
  }

  /// A consumer requests a product.
  mutating func take(waiter new: @autoclosure () -> Waiter) -> TakeAction {
    if let product = products.popFirst() { return .product(product, start: startNext()) }
    if !isOpen, isEmpty { return .end }
    return .wait(waiter.stored(or: new()))
  }

  mutating func suspend() { isSuspended = true }

  mutating func resume() -> [Work] {
    isSuspended = false
    return startAll()
  }

  /// Drops the work that has not started, and returns the waiter to wake.
  mutating func clearPending() -> (dropped: [Work], wake: Waiter?) {
    let dropped = pending.removeAll()
    return (dropped, isEmpty ? waiter.take() : nil)
  }

  /// Accepts no further work, and returns the waiter to wake.
  mutating func finish() -> Waiter? {
    isOpen = false
    return isEmpty ? waiter.take() : nil
  }

  private mutating func start() -> Work? {
    guard !isSuspended, running < limit, products.count < limit, let work = pending.popFirst() else { return nil }
    running += 1
    return work
  }

  private mutating func startNext() -> Work? {
    guard !isStarting, let work = start() else { return nil }
    isStarting = true
    return work
  }

  private mutating func startAll() -> [Work] {
    var work: [Work] = []
    while let next = start() { work.append(next) }
    return work
  }
}
