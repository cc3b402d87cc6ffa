// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs progressions in the order in which they are added, with a concurrency limit, and delivers their results.
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

  /// Creates an empty line.
  ///
  /// - Parameter maxConcurrent: The maximum number of progressions that run concurrently; values below one count as
  ///   one.
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
  /// This method does not suspend. A progression runs with the priority, the task-local values and the executor
  /// preference of the task that made it start: the one that added it, resumed the line or took a result.
  ///
  /// - Parameter progression: The stage to start with.
  /// - Returns: A Boolean value that indicates whether the line accepted the progression: `false` after ``finish()``.
  @inlinable
  @discardableResult
  public func add(_ progression: P) -> Bool {
    let box = Box(progression)
    return handle.add(LineWork(box) { await box.value.lineProduct() })
  }

  /// Starts no further progression until ``resume()``; running progressions continue.
  public func suspend() { handle.core.suspend() }

  /// Resumes the line after ``suspend()``.
  public func resume() { handle.core.resume() }

  /// Drops the progressions that have not started; they deliver no result.
  ///
  /// - Returns: The dropped progressions, in the order in which they were added.
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
  /// of the consumer does not change the line.
  public struct Results: AsyncSequence, Sendable {
    /// The progression as it was added, and its result.
    public typealias Element = (progression: P, result: Result<P.Result, any Error>)
    /// Iterating does not throw; each element carries its error.
    public typealias Failure = Never

    @usableFromInline let handle: LineHandle

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(handle: handle) }

    /// An iterator that removes results from the line.
    public struct Iterator: AsyncIteratorProtocol {
      @usableFromInline let handle: LineHandle

      /// Waits for the next result in the isolation of an actor; returns nil after the last one.
      @inlinable
      public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
        (await handle.take() as? Box<Element>)?.value
      }
    }
  }
}

@available(*, unavailable)
extension ProductionLine.Results.Iterator: Sendable {}
