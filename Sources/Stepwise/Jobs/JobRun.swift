// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A handle for cancelling, awaiting and observing a launched job: a ``Run`` and its updates.
///
/// You get it from `launch`. It has all members of a `Run`; ``run`` is the same handle without the type of the updates.
/// Releasing the handle does not cancel the job.
///
/// ```swift
/// let run = count.launch(10)
/// for await number in run.updates { seen.record(number) }
/// ```
@dynamicMemberLookup
public struct JobRun<Update: Sendable, Output: Sendable>: Sendable {
  /// The handle without the type of the updates.
  public let run: Run<Output>

  let launch: JobLaunch

  /// The updates of the job, as an asynchronous sequence that starts with the newest update.
  ///
  /// A slow subscriber receives only the newest update. Use `onUpdate` handlers to receive each one. The sequence ends
  /// with the job, after the last update, or when the iterating task is cancelled. There may be any number of
  /// subscribers, at any time.
  public var updates: some AsyncSequence<Update, Never> & Sendable { JobUpdates<Update>(launch: launch) }

  /// Cancels the job and stops its handlers.
  ///
  /// The running work is interrupted immediately, through task cancellation. A waiting job leaves its queue immediately
  /// and never starts. No further handler is called: once this method has returned on the main actor, not even a
  /// pending one. Called on another thread, it does not wait for a handler that is running on the main actor.
  ///
  /// - Parameter reason: The reason, for the outcome.
  /// - Returns: A Boolean value that indicates whether this call cancelled the run: `false` when it was already
  ///   cancelled or its outcome was already decided. In both cases no further handler is called.
  @discardableResult
  public func cancel(reason: String? = nil) -> Bool { run.cancel(reason: reason) }

  /// The job's value, once the job has completed; see ``Run/value``.
  public var value: Output { get async throws { try await run.value } }

  /// The job's outcome, once the job has completed; the wait ignores cancellation.
  ///
  /// See ``Run/outcome``.
  public var outcome: Outcome<Output> { get async { await run.outcome } }

  /// The members of the handle, such as ``Run/isFinished``, ``Run/failedStep`` and ``Run/progress``.
  public subscript<Value>(dynamicMember member: KeyPath<Run<Output>, Value>) -> Value { run[keyPath: member] }
}

private struct JobUpdates<Update: Sendable>: AsyncSequence, Sendable {
  let launch: JobLaunch

  func makeAsyncIterator() -> Iterator {
    Iterator(subscription: launch.updates.subscribe { $0 == nil ? [] : [.newest] })
  }

  struct Iterator: AsyncIteratorProtocol {
    let subscription: JobLaunch.Updates.Subscription

    mutating func next(isolation actor: isolated (any Actor)?) async -> Update? {
      await (subscription.next { newest, _ in copy newest } as? Box<Update>)?.value
    }
  }
}
