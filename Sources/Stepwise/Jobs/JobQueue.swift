// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Limits how many jobs run at once; the others wait, in the order in which they are launched.
///
/// Your jobs run on ``shared``, one at a time, unless you pass another queue to `launch`. Waiting jobs of a higher
/// priority start first; see ``Job/priority(_:)``. A job holds its slot until its last handler has returned: the jobs
/// of a serial queue never overlap, handlers included. A job that awaits a job behind it on the same serial queue,
/// directly or through other runs, gets ``ChainError/reentrant``: use a separate queue. On a queue with several slots,
/// jobs that hold all and await waiting jobs wait until they are cancelled.
///
/// ```swift
/// let queue = JobQueue(maxConcurrent: 4)
/// let run = login.bound(to: screen).launch(credentials, on: queue)
/// run.cancel(reason: "left the screen")
/// queue.cancel(named: "login", boundTo: screen)
/// ```
///
/// Releasing the queue does not cancel its jobs. Releasing a suspended queue resumes it.
public final class JobQueue: Sendable {
  /// The serial queue on which jobs are launched by default.
  public static let shared = JobQueue(maxConcurrent: 1)

  /// Its jobs retain the gate instead of the queue.
  let gate: Gate

  /// Creates an empty queue; a limit below one counts as one.
  public init(maxConcurrent: Int) { gate = Gate(capacity: maxConcurrent) }

  deinit { gate.resume() }

  /// Starts no further job until ``resume()``; running jobs continue.
  ///
  /// You can still launch jobs, and their `onStart` handlers are called immediately.
  public func suspend() { gate.suspend() }

  /// Resumes the queue after ``suspend()``.
  public func resume() { gate.resume() }

  /// Waits until no job runs or waits in the queue.
  ///
  /// This method does not refuse new jobs, and waits for those, too. It returns early when the waiting task is
  /// cancelled. Do not call it in a job of this queue: it would wait for that job, until it is cancelled.
  public func waitUntilIdle() async {
    while !Task.isCancelled, case let entrants = gate.entrants, !entrants.isEmpty {
      for (_, run) in entrants { _ = await run.completion.value() }
    }
  }

  /// Waits until no job runs or waits in the queue.
  @available(*, deprecated, renamed: "waitUntilIdle()")
  public func drain() async { await waitUntilIdle() }

  /// Cancels all running and waiting jobs with a name.
  ///
  /// Each job is cancelled as by ``Run/cancel(reason:)``. Waiting jobs never start.
  ///
  /// - Parameters:
  ///   - name: The name of the jobs.
  ///   - reason: The reason, for handlers and outcomes.
  public func cancel(named name: String, reason: String? = nil) {
    cancelJobs(reason: reason) { $0.name == name }
  }

  /// Cancels all running and waiting jobs with a name that are bound to an owner.
  ///
  /// - Parameters:
  ///   - name: The name of the jobs.
  ///   - owner: The owner that was passed to `bound(to:)`.
  ///   - reason: The reason, for handlers and outcomes.
  public func cancel(named name: String, boundTo owner: AnyObject, reason: String? = nil) {
    cancelJobs(reason: reason) { $0.name == name && $0.owner?.isSame(owner) == true }
  }

  /// Cancels all running and waiting jobs.
  ///
  /// The queue stays usable. Waiting jobs never start.
  public func cancelAll(reason: String? = nil) { cancelJobs(reason: reason) { _ in true } }

  private func cancelJobs(reason: String?, where isMeant: (JobLaunch) -> Bool) {
    let jobs = gate.entrants.filter { ($0.entrant as? JobLaunch).map(isMeant) ?? false }
    // All of them leave the queue at one instant, before a running job frees a slot.
    gate.withdraw(jobs.map(\.id))
    for (_, run) in jobs { run.cancel(CancellationRequest(.handle, reason: reason)) }
  }
}
