// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// Each may be given again: the last one holds.
extension Job {
  /// Limits the time of the work, counted from when it begins: waiting in the queue takes nothing from it.
  ///
  /// When it is up the work is cancelled and waited for, and the job ends with ``TimeoutError``. A value that the work
  /// returns all the same wins.
  ///
  /// - Parameters:
  ///   - duration: How long the work may take.
  ///   - clock: What the time is measured on.
  /// - Returns: A new job; this one is unchanged.
  public func timeout(_ duration: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Job {
    setting { $0.timeout = .init(duration: duration, clock: clock) }
  }

  /// Limits the time from the launch, the wait in the queue included.
  ///
  /// A job that still waits when it is up leaves the queue and never begins; one that works is ended as by
  /// ``timeout(_:clock:)``. Both ends are a timeout.
  ///
  /// - Parameters:
  ///   - duration: How long the job may take.
  ///   - clock: What the time is measured on.
  /// - Returns: A new job; this one is unchanged.
  public func deadline(_ duration: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Job {
    setting { $0.deadline = .init(duration: duration, clock: clock) }
  }

  /// Says how urgent the job is: the priority of its Task, and its place among those that wait in its queue.
  ///
  /// There a job of a higher priority begins first, and one without this counts as `.medium`.
  ///
  /// - Parameter priority: How urgent it is.
  /// - Returns: A new job; this one is unchanged.
  public func priority(_ priority: TaskPriority) -> Job {
    setting { $0.priority = priority }
  }

  /// Binds the handlers to an owner: once it is gone, none is called any more.
  ///
  /// The owner is not kept alive, and need not be Sendable: nothing of it is used. The work goes on to its end without it; to end the work as well, cancel the run or
  /// ``JobQueue/cancel(named:boundTo:reason:)``.
  ///
  /// - Parameter owner: Whom the handlers belong to: a screen, mostly.
  /// - Returns: A new job; this one is unchanged.
  public func bound(to owner: AnyObject) -> Job {
    let owner = JobOwner(owner)
    return setting { $0.owner = owner }
  }
}
