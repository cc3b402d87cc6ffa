// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Background work that shows its progress, its errors and its end on the main actor.
///
/// Use a job for work that your user waits for at a screen. A job is a chain with handlers. You can launch it
/// any number of times. Each modifier returns a new job and leaves the original unchanged.
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
  package let name: String

  let chain: Chain<JobInput<Input>, Output>
  package var settings = JobSettings()

  /// Creates a job whose work reports updates.
  ///
  /// - Parameters:
  ///   - name: The name of the job in queues.
  ///   - work: Receives the input, and the context through which to report updates. An error that it throws ends the
  ///     job.
  public init(
    _ name: String,
    _ work: @escaping @Sendable (Input, JobContext<Update>) async throws -> Output
  ) {
    self.name = name
    chain = Chain(name) { (input: JobInput<Input>) in
      let (launch, context) = (input.launch, JobContext<Update>(launch: input.launch))
      if launch.limits.isEmpty { return try await work(input.value, context) }
      return try await launch.limited { try await work(input.value, context) }
    }
  }

  /// Launches the job.
  ///
  /// The job enters its queue before this method returns. `onStart` handlers are called on the main actor as soon as
  /// possible. If you launch from the main actor, they run after this method has returned, and you can cancel through
  /// the handle first; elsewhere they may run before. Launched under a token that is already cancelled, the job ends as
  /// cancelled and calls no handler.
  ///
  /// The run inherits the task-local values, the executor preference and, without ``priority(_:)``, the priority of the
  /// caller, but not its cancellation. Releasing the returned handle does not cancel the run.
  ///
  /// - Parameters:
  ///   - input: The input of the work.
  ///   - queue: The queue that schedules the job.
  ///   - priority: The priority of this launch; that of ``priority(_:)`` when nil.
  ///   - token: Cancels the run and what its work runs, as in the body of ``withCancellation(by:_:)``.
  /// - Returns: The handle, through which to cancel, await and observe the job.
  @discardableResult
  public func launch(
    _ input: Input,
    on queue: JobQueue = .shared,
    priority: TaskPriority? = nil,
    cancelledBy token: CancellationToken? = nil
  ) -> JobRun<Update, Output> {
    let priority = priority ?? settings.priority
    let core = chain.core
    let (launch, handle) = core.start(priority: priority, cancelledBy: token) { recorder -> JobLaunch in
      let launch = JobLaunch(of: core, on: queue, name: name, settings: settings, priority: priority, for: recorder)
      launch.put(ValueSlot(JobInput(launch: launch, value: input)))
      return launch
    }
    launch.callPending()
    return JobRun(launch, handle)
  }
}

/// Reports the updates of a job from its work.
///
/// The work receives one as its second argument; call ``update(_:)`` with what you want to show.
public struct JobContext<Update: Sendable>: Sendable {
  @usableFromInline let launch: JobLaunch

  /// Delivers an update to the `onUpdate` handlers and to the subscribers of ``JobRun/updates``.
  ///
  /// This method does not suspend, and you can call it from any thread. Each handler receives each update, in the order
  /// of the calls. Pending updates are buffered until the main actor handles them, so work that is faster than the main
  /// actor for a long time grows the buffer. Without handlers and subscribers nothing is buffered. Once the work has
  /// ended or the job was cancelled, handlers receive no further update.
  @inlinable public func update(_ update: Update) { launch.update(Box(update)) }
}

extension Job where Update == Never {
  // Disfavoured, because a context is not an input.

  /// Creates a job whose work reports no updates.
  @_disfavoredOverload
  public init(
    _ name: String,
    _ work: @escaping @Sendable (Input) async throws -> Output
  ) {
    self.init(name) { input, _ in try await work(input) }
  }
}

extension Job where Input == Void {
  /// Creates a job without input whose work reports updates.
  public init(
    _ name: String,
    _ work: @escaping @Sendable (JobContext<Update>) async throws -> Output
  ) {
    self.init(name) { _, context in try await work(context) }
  }

  /// Launches the job, like ``launch(_:on:priority:cancelledBy:)``.
  @discardableResult
  public func launch(
    on queue: JobQueue = .shared,
    priority: TaskPriority? = nil,
    cancelledBy token: CancellationToken? = nil
  ) -> JobRun<Update, Output> {
    launch((), on: queue, priority: priority, cancelledBy: token)
  }
}

extension Job where Input == Void, Update == Never {
  /// Creates a job without input whose work reports no updates.
  public init(
    _ name: String,
    _ work: @escaping @Sendable () async throws -> Output
  ) {
    self.init(name) { (_: Void, _: JobContext<Never>) in try await work() }
  }
}

// When a modifier is applied repeatedly, the last one takes effect.
extension Job {
  /// Limits the duration of the work, not counting the time in the queue.
  ///
  /// When the time is up, the work is cancelled and awaited, and the job ends with ``TimeoutError``. If the
  /// work still returns a value, that is the job's value.
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
  public func priority(_ priority: TaskPriority) -> Job {
    setting { $0.priority = priority }
  }

  /// Binds the handlers to an owner: once it is deallocated, no handler is called.
  ///
  /// The job does not retain the owner, which need not be Sendable, because only its identity is used. The work
  /// continues without the owner. To end the work as well, cancel the run or call
  /// ``JobQueue/cancel(named:boundTo:reason:)``.
  public func bound(to owner: AnyObject) -> Job {
    let owner = JobOwner(owner)
    return setting { $0.owner = owner }
  }
}

// A job may have several handlers of each kind, called in the order in which they were attached; `onError` calls one.
extension Job {
  /// Calls a handler when the job is launched.
  ///
  /// The handler also runs while the job waits in its queue. It is called before every other handler.
  public func onStart(_ handler: @escaping @MainActor () -> Void) -> Job {
    setting { $0.handlers.onStart.append(handler) }
  }

  /// Calls a handler with each update that the work reports, in order.
  @inlinable public func onUpdate(_ handler: @escaping @MainActor (Update) -> Void) -> Job {
    onBoxedUpdate { box in if let box = box as? Box<Update> { handler(box.value) } }
  }

  @usableFromInline func onBoxedUpdate(_ handler: @escaping @MainActor (any AnyBox) -> Void) -> Job {
    setting { $0.handlers.onUpdate.append(handler) }
  }

  /// Calls a handler when `timeout` or `deadline` ended the job.
  ///
  /// A `TimeoutError` that the work itself throws is handled like any other error. In a job without this handler, the
  /// job's own timeout is passed to `onError`.
  public func onTimeout(_ handler: @escaping @MainActor () -> Void) -> Job {
    setting { $0.handlers.onTimeout.append(handler) }
  }

  /// Calls a handler when the job failed with an error of one type and no other handler is more specific.
  ///
  /// Only one error handler is called: that for the error's type, otherwise for the most derived of its base classes,
  /// otherwise for a protocol that it conforms to, otherwise for all errors; among equals, the first.
  ///
  /// - Parameters:
  ///   - type: The type of error: a concrete type, a base class, or a protocol such as `(any NetworkProblem).self`.
  ///   - handler: Called on the main actor, before `onFinish`.
  /// - Returns: A new job; this one is unchanged.
  public func onError<Failure>(of type: Failure.Type, _ handler: @escaping @MainActor (Failure) -> Void) -> Job {
    setting { $0.handlers.onError.append(JobErrorHandler(type, handler)) }
  }

  /// Calls a handler when the job failed with an error that no other handler matches.
  public func onError(_ handler: @escaping @MainActor (any Error) -> Void) -> Job {
    onError(of: (any Error).self, handler)
  }

  /// Calls a handler when the job has completed, unless it was cancelled; called after all other handlers.
  public func onFinish(_ handler: @escaping @MainActor (Outcome<Output>) -> Void) -> Job {
    setting { $0.handlers.onFinish.append { outcome, output in handler(outcome.map { output.copy(as: Output.self) }) } }
  }

  func setting(_ change: (inout JobSettings) -> Void) -> Job {
    var job = self
    change(&job.settings)
    return job
  }
}

/// The ``Run`` of a launched job, with its updates.
///
/// You get it from `launch`. Once the job is cancelled, no further handler is called: when `cancel` has returned on the
/// main actor, not even a pending one. Called on another thread, `cancel` does not wait for a handler that is running on
/// the main actor. Handlers are silenced even when it is too late to change the outcome.
///
/// ```swift
/// let run = count.launch(10)
/// for await number in run.updates { seen.record(number) }
/// ```
public final class JobRun<Update: Sendable, Output: Sendable>: Run<Output>, @unchecked Sendable {  // Safety: as `Run`.
  let launch: JobLaunch

  init(_ launch: JobLaunch, _ handle: RunHandle) {
    self.launch = launch
    super.init(handle)
  }

  /// The updates of the job, as an asynchronous sequence that starts with the newest update.
  ///
  /// A slow subscriber receives only the newest update. Use `onUpdate` handlers to receive each one. The sequence ends
  /// with the job, after the last update, or when the iterating task is cancelled. There may be any number of
  /// subscribers, at any time.
  public var updates: some AsyncSequence<Update, Never> & Sendable {
    JobLaunch.Updates.Reader<Update>(
      owner: launch,
      subscribe: { [launch] in launch.updates.subscribe { $0 == nil ? [] : [true] } },
      read: { newest, _ in (copy newest as? Box<Update>)?.value }
    )
  }
}
