// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Job where Update == Never {
  // Disfavoured, since a context is no input.

  /// Creates a job whose work tells no updates.
  ///
  /// - Parameters:
  ///   - name: What queues call the job.
  ///   - work: Takes the input; what it throws ends the job.
  @_disfavoredOverload
  public init(
    _ name: String,
    _ work: nonisolated(nonsending) @escaping @Sendable (Input) async throws -> Output
  ) {
    self.init(name) { input, _ in try await work(input) }
  }
}

extension Job where Input == Void {
  /// Creates a job without input whose work tells how it gets on.
  ///
  /// - Parameters:
  ///   - name: What queues call the job.
  ///   - work: Takes the context to tell updates by; what it throws ends the job.
  public init(
    _ name: String,
    _ work: nonisolated(nonsending) @escaping @Sendable (JobContext<Update>) async throws -> Output
  ) {
    self.init(name) { _, context in try await work(context) }
  }

  /// Launches the job, as `launch(_:on:)` does.
  ///
  /// - Parameter queue: Says when the work begins.
  /// - Returns: The handle, to cancel the job, to wait for it, and to look at it.
  @discardableResult
  public func launch(on queue: JobQueue = .shared) -> JobRun<Update, Output> { launch((), on: queue) }

  /// Launches the job, and gives the handle without the type of the updates.
  ///
  /// - Parameter queue: Says when the work begins.
  /// - Returns: The handle, to cancel the job, to wait for it, and to look at it.
  @_disfavoredOverload
  public func launch(on queue: JobQueue = .shared) -> Run<Output> { launch((), on: queue) }
}

extension Job where Input == Void, Update == Never {
  /// Creates a job without input whose work tells no updates.
  ///
  /// - Parameters:
  ///   - name: What queues call the job.
  ///   - work: What it throws ends the job.
  public init(
    _ name: String,
    _ work: nonisolated(nonsending) @escaping @Sendable () async throws -> Output
  ) {
    self.init(name) { (_: Void, _: JobContext<Never>) in try await work() }
  }
}
