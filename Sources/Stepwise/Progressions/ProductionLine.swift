// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs progressions as they are added, so many at a time, and hands out their results.
///
/// ```swift
/// let line = ProductionLine<FileOpen>(maxConcurrent: 4)
/// for url in urls { line.add(.read(url)) }
/// line.finish()
/// for await (progression, result) in line.results { show(progression, result) }
/// ```
///
/// Progressions begin in the order in which they were added. When as many results wait to be taken as may run at once,
/// nothing further begins: a slow consumer holds up the line, and no more than the results of those that run already come
/// on top. Letting the line go is to ``resume()`` and to ``finish()`` it.
public final class ProductionLine<P: Progression>: Sendable {
  @usableFromInline let handle: LineHandle

  /// Creates a line to which nothing was added.
  ///
  /// - Parameter maxConcurrent: How many progressions run at once; less than one counts as one.
  public init(maxConcurrent: Int) {
    handle = LineHandle(maxConcurrent: maxConcurrent)
  }

  deinit {
    // Nobody is left who could.
    handle.core.resume()
    handle.core.finish()
  }

  /// Adds a progression, which begins at once or when there is room.
  ///
  /// Does not wait. The progressions run with the priority, the task-locals and the executor preference of whoever had the
  /// line begin: who added, resumed or took a result.
  ///
  /// - Parameter progression: The stage to begin with.
  /// - Returns: Whether it was added: `false` after ``finish()``.
  @inlinable
  @discardableResult
  public func add(_ progression: P) -> Bool {
    let job = LineJob(progression)
    return handle.add(LineWork(job) { await job.perform() })
  }

  /// Begins nothing further until ``resume()``; what runs goes on.
  public func suspend() { handle.core.suspend() }

  /// Goes on after ``suspend()``.
  public func resume() { handle.core.resume() }

  /// Drops the progressions that have not begun; they have no result.
  ///
  /// - Returns: What was dropped, in order.
  @discardableResult
  public func clearPending() -> [P] {
    handle.core.clearPending().compactMap { ($0.job as? LineJob<P>)?.progression }
  }

  /// Accepts nothing more; ``results`` ends after the last result of what was added before.
  public func finish() { handle.core.finish() }

  /// What the progressions resulted in, in the order in which they ended, for one consumer.
  public var results: Results { Results(handle: handle) }

  /// What progressions resulted in, as an asynchronous sequence for one consumer.
  ///
  /// Iterating takes the results out of the line: a further consumer would take what the first one does not get. The sequence
  /// ends after ``ProductionLine/finish()``, or when the Task that iterates is cancelled, which changes nothing in the line.
  public struct Results: AsyncSequence, Sendable {
    /// The progression as it was added, and what it resulted in.
    public typealias Element = (progression: P, result: Result<P.Result, any Error>)
    /// Iterating does not throw: errors are in the elements.
    public typealias Failure = Never

    @usableFromInline let handle: LineHandle

    /// Begins to take results.
    public func makeAsyncIterator() -> Iterator { Iterator(handle: handle) }

    /// Takes results.
    public struct Iterator: AsyncIteratorProtocol {
      @usableFromInline let handle: LineHandle

      /// Waits for the next result; nil after the last.
      @inlinable
      public mutating func next() async -> Element? { await next(isolation: nil) }

      /// Waits for the next result in an actor's isolation; nil after the last.
      @inlinable
      public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
        (await handle.take() as? LineProduct<P>)?.element
      }
    }
  }
}

@available(*, unavailable)
extension ProductionLine.Results.Iterator: Sendable {}
