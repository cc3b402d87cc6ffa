// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Says when the jobs launched on it begin: so many at a time, the others in the order of the calls.
///
/// Among those that wait, the ones of a higher priority begin first; see ``Job/priority(_:)``. A job has its place until its
/// last handler has returned, so that what a serial queue runs never overlaps, handlers included. A job whose work launches
/// another on the same serial queue and waits for it there waits for ever: give that one a queue of its own.
///
/// Letting the queue go cancels nothing. The jobs that wait go on, also those of a suspended queue: nobody is left who could
/// resume it.
public final class JobQueue: Sendable {
  /// A serial queue for all jobs that are launched on no other.
  public static let shared = JobQueue(maxConcurrent: 1)

  let core: JobQueueCore

  /// Creates a queue in which nothing waits.
  ///
  /// - Parameter maxConcurrent: How many jobs run at once; less than one counts as one.
  public init(maxConcurrent: Int) {
    core = JobQueueCore(maxConcurrent: maxConcurrent)
  }

  deinit { core.resume() }

  /// Begins no further job until ``resume()``; those that run go on.
  ///
  /// Jobs may still be launched, and their `onStart` handlers are told at once.
  public func suspend() { core.suspend() }

  /// Goes on after ``suspend()``.
  public func resume() { core.resume() }

  /// Cancels the jobs of one name, those that run and those that wait.
  ///
  /// What holds for ``JobRun/cancel(reason:)`` holds for each of them. None of those that wait begins any more.
  ///
  /// - Parameters:
  ///   - name: The name that the jobs were made with.
  ///   - reason: Why, for those who are told.
  public func cancel(named name: String, reason: String? = nil) {
    core.cancel(named: name, boundTo: nil, reason: reason)
  }

  /// Cancels the jobs of one name that are bound to one owner, those that run and those that wait.
  ///
  /// - Parameters:
  ///   - name: The name that the jobs were made with.
  ///   - owner: Whom they were bound to by `bound(to:)`.
  ///   - reason: Why, for those who are told.
  public func cancel(named name: String, boundTo owner: AnyObject, reason: String? = nil) {
    core.cancel(named: name, boundTo: owner, reason: reason)
  }

  /// Cancels all jobs, those that run and those that wait.
  ///
  /// The queue stays usable. None of the jobs that wait begins any more.
  ///
  /// - Parameter reason: Why, for those who are told.
  public func cancelAll(reason: String? = nil) { core.cancelAll(reason: reason) }
}
