// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// A task that was launched.
@available(*, deprecated, message: "Use JobRun, which launch of a Job returns")
public final class ElevateTask: Sendable {
  private let run: JobRun<TaskValue, TaskValue>

  init(_ run: JobRun<TaskValue, TaskValue>) {
    self.run = run
  }

  /// Cancels the task: a `CancelledError` is thrown within it, and none of its handlers is called any more.
  ///
  /// One that waits in the queue never begins. Work that neither makes a request nor awaits anything sees it in
  /// `Task.isCancelled`, and goes on to its end if it does not look.
  @available(*, deprecated, message: "Use cancel(reason:) of JobRun")
  public func cancel() { run.cancel() }

  /// The task as a `JobRun`, for callers that have moved: to await it, and to look at it.
  @available(*, deprecated, message: "Make it a Job, and use what launch returns, when its last old caller has moved")
  public var modern: JobRun<TaskValue, TaskValue> { run }
}
