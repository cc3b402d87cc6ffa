// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// When a modifier is applied repeatedly, the last one takes effect.
extension Job {
  /// Limits the duration of the work, not counting the time in the queue.
  ///
  /// When the time is up, the work is cancelled and awaited, and the job ends with ``TimeoutError``. A value that the
  /// work still returns is the job's value.
  ///
  /// - Parameters:
  ///   - duration: The time limit for the work.
  ///   - clock: The clock that measures the time.
  /// - Returns: A new job; this one is unchanged.
  public func timeout(_ duration: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Job {
    setting { $0.timeout = .init(duration: duration, clock: clock) }
  }

  /// Limits the time from the launch, including the time in the queue.
  ///
  /// A job that is still waiting when the time is up leaves the queue and never starts. A running job ends like with
  /// ``timeout(_:clock:)``. Both count as a timeout.
  ///
  /// - Parameters:
  ///   - duration: The time limit for the job.
  ///   - clock: The clock that measures the time.
  /// - Returns: A new job; this one is unchanged.
  public func deadline(_ duration: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Job {
    setting { $0.deadline = .init(duration: duration, clock: clock) }
  }

  /// Sets the priority of the job's task, which also determines its position in the queue.
  ///
  /// A waiting job of a higher priority starts first. A job without this modifier counts as `.medium` in the queue.
  ///
  /// - Parameter priority: The priority.
  /// - Returns: A new job; this one is unchanged.
  public func priority(_ priority: TaskPriority) -> Job {
    setting { $0.priority = priority }
  }

  /// Binds the handlers to an owner: once it is deallocated, no handler is called.
  ///
  /// The job does not retain the owner, which need not be Sendable, because only its identity is used. The work
  /// continues without the owner. To end the work as well, cancel the run or call
  /// ``JobQueue/cancel(named:boundTo:reason:)``.
  ///
  /// - Parameter owner: The owner of the handlers, usually a screen.
  /// - Returns: A new job; this one is unchanged.
  public func bound(to owner: AnyObject) -> Job {
    let owner = JobOwner(owner)
    return setting { $0.owner = owner }
  }
}
