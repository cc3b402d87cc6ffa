// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Work in the background that tells the main actor how it gets on.
///
/// A job is a chain with listeners: it is described once, is a value, and can be launched any number of times. Each modifier
/// returns a new job and leaves the old one as it was.
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
/// The work runs off the main actor, when its ``JobQueue`` lets it. Handlers are called on the main actor, in this order:
/// `onStart`, at launch; `onUpdate`, for each update; then `onTimeout`, if one of the job's own timers ended it, or else the
/// most specific `onError`, if it failed; then `onFinish`. After a cancel, by whomever, none is called any more. Whoever
/// awaits the run goes on when the last handler has returned.
public struct Job<Input: Sendable, Update: Sendable, Output: Sendable>: Sendable {
  /// What queues call the job, and errors, events and pictures its step.
  public let name: String

  let chain: Chain<JobInput<Input>, Output>
  var settings = JobSettings()

  /// Creates a job whose work tells how it gets on.
  ///
  /// - Parameters:
  ///   - name: What queues call the job.
  ///   - work: Takes the input, and the context to tell updates by; what it throws ends the job.
  public init(
    _ name: String,
    _ work: nonisolated(nonsending) @escaping @Sendable (Input, JobContext<Update>) async throws -> Output
  ) {
    self.name = name
    chain = Chain(name) { (input: JobInput<Input>) in
      let (launch, context) = (input.launch, JobContext<Update>(channel: input.launch.channel))
      let output: Output
      if launch.isLimited {
        output = try await launch.limited { try await work(input.value, context) }
      } else {
        try await launch.waitForTurn()
        output = try await work(input.value, context)
      }
      launch.keep { JobBox(output) }
      return output
    }
  }

  /// Launches the job.
  ///
  /// The job enters its queue before this returns. `onStart` handlers are called on the main actor as soon as it has time.
  /// When this is called on the main actor, that is after it has returned, so that there is a handle to cancel by; elsewhere
  /// they may be called meanwhile. Launched under a token that is cancelled already, the job ends cancelled, and no handler is
  /// called.
  ///
  /// The run keeps the task-locals, the executor preference and, unless ``priority(_:)`` says otherwise, the priority of the
  /// caller, but is not cancelled with it. Letting the returned handle go cancels nothing.
  ///
  /// - Parameters:
  ///   - input: What to work on.
  ///   - queue: Says when the work begins.
  /// - Returns: The handle, to cancel the job, to wait for it, and to look at it.
  @discardableResult
  public func launch(_ input: Input, on queue: JobQueue = .shared) -> JobRun<Update, Output> {
    let launch = JobLaunch(name: name, settings: settings, on: queue.core)
    let input = JobInput(launch: launch, value: input)
    let run: Run<Output> = Run(of: chain.core, input: input, priority: settings.priority, listener: launch)
    return JobRun(run: run, updates: JobUpdates(latest: launch.channel.latest))
  }

  /// Launches the job, and gives the handle without the type of the updates.
  ///
  /// - Parameters:
  ///   - input: What to work on.
  ///   - queue: Says when the work begins.
  /// - Returns: The handle, to cancel the job, to wait for it, and to look at it.
  @_disfavoredOverload
  public func launch(_ input: Input, on queue: JobQueue = .shared) -> Run<Output> {
    let run: JobRun<Update, Output> = launch(input, on: queue)
    return run.run
  }
}
