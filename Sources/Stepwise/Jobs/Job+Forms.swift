// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Job where Update == Never {
  // Disfavoured, because a context is not an input.

  /// Creates a job whose work reports no updates.
  ///
  /// - Parameters:
  ///   - name: The name of the job in queues.
  ///   - work: Receives the input. An error that it throws ends the job.
  @_disfavoredOverload
  public init(
    _ name: String,
    _ work: nonisolated(nonsending) @escaping @Sendable (Input) async throws -> Output
  ) {
    self.init(name) { input, _ in try await work(input) }
  }
}

extension Job where Input == Void {
  /// Creates a job without input whose work reports updates.
  ///
  /// - Parameters:
  ///   - name: The name of the job in queues.
  ///   - work: Receives the context through which to report updates. An error that it throws ends the job.
  public init(
    _ name: String,
    _ work: nonisolated(nonsending) @escaping @Sendable (JobContext<Update>) async throws -> Output
  ) {
    self.init(name) { _, context in try await work(context) }
  }

  /// Launches the job, like `launch(_:on:cancelledBy:)`.
  ///
  /// - Parameters:
  ///   - queue: The queue that schedules the job.
  ///   - token: Cancels the run.
  /// - Returns: The handle, through which to cancel, await and observe the job.
  @discardableResult
  public func launch(on queue: JobQueue = .shared, cancelledBy token: CancellationToken? = nil) -> JobRun<
    Update, Output
  > {
    launch((), on: queue, cancelledBy: token)
  }
}

extension Job where Input == Void, Update == Never {
  /// Creates a job without input whose work reports no updates.
  ///
  /// - Parameters:
  ///   - name: The name of the job in queues.
  ///   - work: The work. An error that it throws ends the job.
  public init(
    _ name: String,
    _ work: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
  ) {
    self.init(name) { (_: Void, _: JobContext<Never>) in try await work() }
  }
}
