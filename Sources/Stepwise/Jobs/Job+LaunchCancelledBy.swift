// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Job {
  /// Launches the job so that a token cancels it, for code that is not asynchronous.
  ///
  /// It is what `launch(_:on:)` does in the body of ``withCancellation(by:isolation:_:)``: cancelling the token cancels
  /// this run, with the token's reason, and what its work runs. Once the job is cancelled, no further handler runs. If
  /// the token is cancelled already, the job ends cancelled, and no handler is called.
  ///
  /// - Parameters:
  ///   - input: What to work on.
  ///   - queue: Decides when the work begins.
  ///   - token: Cancels the run.
  /// - Returns: The handle; releasing it cancels nothing.
  @discardableResult
  public func launch(
    _ input: Input,
    on queue: JobQueue = .shared,
    cancelledBy token: CancellationToken
  ) -> JobRun<Update, Output> {
    let scope = (CancellationScope.current ?? CancellationScope()).inside(token)
    return CancellationScope.$current.withValue(scope) { launch(input, on: queue) }
  }

  /// Launches the job so that a token cancels it, and returns the handle without the type of the updates.
  ///
  /// - Parameters:
  ///   - input: What to work on.
  ///   - queue: Decides when the work begins.
  ///   - token: Cancels the run.
  /// - Returns: The handle; releasing it cancels nothing.
  @_disfavoredOverload
  public func launch(
    _ input: Input,
    on queue: JobQueue = .shared,
    cancelledBy token: CancellationToken
  ) -> Run<Output> {
    let run: JobRun<Update, Output> = launch(input, on: queue, cancelledBy: token)
    return run.run
  }
}

extension Job where Input == Void {
  /// Launches the job so that a token cancels it; see `launch(_:on:cancelledBy:)`.
  ///
  /// - Parameters:
  ///   - queue: Decides when the work begins.
  ///   - token: Cancels the run.
  /// - Returns: The handle; releasing it cancels nothing.
  @discardableResult
  public func launch(on queue: JobQueue = .shared, cancelledBy token: CancellationToken) -> JobRun<Update, Output> {
    launch((), on: queue, cancelledBy: token)
  }

  /// Launches the job so that a token cancels it, and returns the handle without the type of the updates.
  ///
  /// - Parameters:
  ///   - queue: Decides when the work begins.
  ///   - token: Cancels the run.
  /// - Returns: The handle; releasing it cancels nothing.
  @_disfavoredOverload
  public func launch(on queue: JobQueue = .shared, cancelledBy token: CancellationToken) -> Run<Output> {
    launch((), on: queue, cancelledBy: token)
  }
}
