// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Background work that reports progress on the main actor.
///
/// A job is a chain with handlers. It is a value and can be launched any number of times. Each modifier returns a new
/// job and leaves the original unchanged.
///
/// ```swift
/// let track = Job("track") { (artist: String, job: JobContext<String>) in
///   job.update("Looking up…")
///   return try await api.track(artist)
/// }
/// .timeout(.seconds(30))
/// .onStart { hud.show() }
/// .onUpdate { text in hud.text = text }
/// .onFinish { outcome in hud.hide() }
/// let run = track.launch("Prince")
/// ```
///
/// The work runs off the main actor, when its ``JobQueue`` admits it. Handlers are called on the main actor in this
/// order: `onStart` at launch; `onUpdate` for each update; then `onTimeout` if one of the job's own timers ended it, or
/// else the most specific `onError` if it failed; then `onFinish`. Once the job is cancelled, no further handler runs.
/// The job completes when the last handler has returned.
public struct Job<Input: Sendable, Update: Sendable, Output: Sendable>: Sendable {
  /// The name of the job in queues, and of its step in errors, events and diagrams.
  public let name: String

  let chain: Chain<JobInput<Input>, Output>
  var settings = JobSettings()

  /// Creates a job whose work reports updates.
  ///
  /// - Parameters:
  ///   - name: The name of the job in queues.
  ///   - work: Receives the input, and the context through which to report updates. An error that it throws ends the
  ///     job.
  public init(
    _ name: String,
    _ work: nonisolated(nonsending) @escaping @Sendable (Input, JobContext<Update>) async throws -> Output
  ) {
    self.name = name
    chain = Chain(name) { (input: JobInput<Input>) in
      let (launch, context) = (input.launch, JobContext<Update>(launch: input.launch))
      if let limits = launch.limits { return try await limits.limit(launch) { try await work(input.value, context) } }
      try await launch.waitForTurn()
      return try await work(input.value, context)
    }
  }

  /// Launches the job.
  ///
  /// The job enters its queue before this method returns. `onStart` handlers are called on the main actor as soon as
  /// possible. If you launch from the main actor, they run after this method has returned, so that you can cancel
  /// through the handle first; elsewhere they may run meanwhile. Launched under a token that is already cancelled, the
  /// job ends as cancelled and calls no handler.
  ///
  /// The run inherits the task-local values, the executor preference and, without ``priority(_:)``, the priority of the
  /// caller, but not its cancellation. Releasing the returned handle does not cancel the run.
  ///
  /// - Parameters:
  ///   - input: The input of the work.
  ///   - queue: The queue that schedules the job.
  ///   - token: Cancels the run and what its work runs, as in the body of ``withCancellation(by:isolation:_:)``.
  /// - Returns: The handle, through which to cancel, await and observe the job.
  @discardableResult
  public func launch(
    _ input: Input,
    on queue: JobQueue = .shared,
    cancelledBy token: CancellationToken? = nil
  ) -> JobRun<Update, Output> {
    let launch = JobLaunch(name: name, settings: settings)
    let priority = settings.priority
    let entrance = Entrance(gate: queue.gate, mode: .queue, priority: Int((priority ?? .medium).rawValue))
    let input = JobInput(launch: launch, value: input)
    let run = CancellationScope.adding(token) {
      Run<Output>(of: chain.core, input: input, priority: priority, entrance: entrance, handlers: launch)
    }
    launch.callPending()
    return JobRun(run: run, launch: launch)
  }
}
