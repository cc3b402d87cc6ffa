// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Steps that run one after the other, each on the previous output, and are undone when a later one fails.
///
/// A chain is immutable: `then` and every modifier return a new chain and leave the original unchanged. You can run it
/// any number of times: with ``run(_:)``, which belongs to the task that awaits it, or with `start`, which starts an
/// unstructured run. A chain can count its runs, cancel them, and wait for their completion.
///
/// Two chains with the same steps are supervised separately. No member is isolated: you can call
/// ``cancelRuns(reason:)`` and ``runsInFlight`` from any thread, and they take effect in the order of the calls.
///
/// ```swift
/// let thumbnail = Chain("download") { (url: URL) in try await download(url) }
///   .then("decode") { data in try Image(data) }
///   .onError { error in log(error) }
/// let image = try await thumbnail.run(url)
/// ```
///
/// *Positional* modifiers (`recover`, `retry`, `timeout`, `abandon`, `executor`) cover the steps before them.
/// You can attach *whole-chain* modifiers (`onError`, `finally`, `overlap`) anywhere. To limit a modifier to some steps,
/// append them as a nested chain.
public actor Chain<Input: Sendable, Output: Sendable> {
  @usableFromInline nonisolated let path: Path
  // Not an atomic reference, which takes 80 ns longer to read.
  private nonisolated let supervisor = Lock<ChainCore?>(nil)

  @usableFromInline
  init(_ path: Path) { self.path = path }

  /// What runs this chain, made when it is first needed: most chains are only a step on the way to another one.
  @usableFromInline nonisolated var core: ChainCore { supervisor.withLock { $0.stored(or: ChainCore(path)) } }

  // MARK: - Supervision

  /// The number of this chain's runs that have not completed, including those that wait for a slot.
  public nonisolated var runsInFlight: Int { core.counter.count }

  /// Cancels this chain's runs that are in flight; the chain stays usable.
  ///
  /// The cancellation is in effect when this method returns: the running step of each run is interrupted, however the run
  /// was begun.
  public nonisolated func cancelRuns(reason: String? = nil) {
    core.registry.cancel(CancellationRequest(.cancelRuns, reason: reason), of: ObjectIdentifier(core))
  }

  /// Waits until no run is in flight.
  ///
  /// This method does not refuse new runs. It returns early when the waiting task is cancelled. Do not call it in a
  /// step of the chain: it would wait for that step's run, until it is cancelled.
  public nonisolated func waitUntilIdle() async { _ = await core.counter.drain().value() }

  /// Waits until no run is in flight.
  @available(*, deprecated, renamed: "waitUntilIdle()")
  public nonisolated func drain() async { await waitUntilIdle() }

  /// A token that permanently cancels the runs of this chain and of all chains derived from it, or from which it is
  /// derived.
  ///
  /// The token is meant for a chain that serves one piece of work. Cancelling it interrupts the running step of each run,
  /// however the run was begun.
  public nonisolated var cancellationToken: CancellationToken { core.registry.token }
}

// MARK: - Running

extension Chain {
  /// Runs the chain and waits for its completion.
  ///
  /// The run belongs to the task that awaits it: it has a task of its own, which is cancelled with that task, and inherits
  /// its priority, its task-local values and its executor preference. The steps run off the caller's actor.
  ///
  /// - Returns: The last step's output, even when the run was cancelled while that step was running.
  /// - Throws: The error of a step, unchanged; `CancellationError` when the run was cancelled in any way, or was
  ///   refused or replaced by its overlap policy; ``ChainError/reentrant`` when a step runs its own chain, whose policy
  ///   admits one run at a time.
  @inlinable
  public nonisolated func run(_ input: Input) async throws -> Output {
    var slot = ValueSlot()
    slot.put(input)
    var output = try await core.run(slot)
    return output.take()
  }

  /// Starts an unstructured run.
  ///
  /// The run inherits the priority, the task-local values and the executor preference of the caller, but not its
  /// cancellation. Releasing the returned handle does not cancel the run. A token cancels the run and what its steps
  /// run, as in the body of ``withCancellation(by:_:)``. When it is already cancelled, the run only calls its
  /// `finally` handlers, and not even those with an overlap policy.
  ///
  /// Pass a completion to call a chain from code that works with callbacks. It is called exactly once, after the
  /// `finally` handlers; a cancelled run passes `CancellationError`. It runs off the caller's actor, unless the closure
  /// is isolated: `chain.start(input) { @MainActor result in show(result) }`. The run's cancellation does not cancel it.
  @discardableResult @inlinable
  public nonisolated func start(
    _ input: Input,
    cancelledBy token: CancellationToken? = nil,
    completion: (@Sendable (Result<Output, any Error>) async -> Void)? = nil
  ) -> Run<Output> {
    var slot = ValueSlot()
    slot.put(input)
    let run = Run<Output>(core.start(slot, cancelledBy: token))
    if let completion { run.call(completion) }
    return run
  }
}

// MARK: - For other modules

extension Chain {
  package nonisolated var kinds: [Node.Kind] { path.node.kinds }

  /// Whether an overlap policy may refuse a run.
  package nonisolated var isGated: Bool { core.entrance != nil }

  /// Runs the chain and returns its outcome.
  ///
  /// - Throws: ``ChainError/reentrant`` when the run would wait for the run that called this.
  package nonisolated func outcome(of input: Input) async throws -> Outcome<Output> {
    let run = try await core.runAwaited(ValueSlot(input))
    defer { run.forget() }
    return run.outcome()
  }

  /// The name of the chain, or of its first step.
  package nonisolated var storedName: String {
    path.identity.name ?? ChainStep(index: 0, name: core.summary.names[0]).description
  }

  /// Runs the chain with a journal.
  package nonisolated func run(with journal: any RunJournal) async throws -> Output {
    var output = try await core.runAwaited(ValueSlot(), with: journal).takeOutput()
    return output.take()
  }

  package nonisolated func start(with journal: any RunJournal, cancelledBy token: CancellationToken?) -> Run<Output> {
    Run(core.start(ValueSlot(), priority: nil, cancelledBy: token, with: journal))
  }
}

extension Chain where Input == Void {
  /// Creates a chain of one step without input.
  @inlinable
  public init(_ body: @escaping @Sendable () async throws -> Output) {
    self.init { (_: Void) in try await body() }
  }

  /// Creates a chain of one step without input, with a name.
  @inlinable
  public init(_ name: String, _ body: @escaping @Sendable () async throws -> Output) {
    self.init(name) { (_: Void) in try await body() }
  }

  /// Runs the chain and waits for its completion, like ``run(_:)``.
  @inlinable
  public nonisolated func run() async throws -> Output { try await run(()) }

  /// Starts an unstructured run, like ``start(_:cancelledBy:completion:)``.
  @discardableResult
  public nonisolated func start(
    cancelledBy token: CancellationToken? = nil,
    completion: (@Sendable (Result<Output, any Error>) async -> Void)? = nil
  ) -> Run<Output> {
    start((), cancelledBy: token, completion: completion)
  }
}

// MARK: - Steps

extension Chain {
  /// Creates a chain of one step.
  @inlinable
  public init(_ body: @escaping @Sendable (Input) async throws -> Output) {
    self.init(nil, code: Self.code(body))
  }

  /// Creates a chain of one step with a name.
  @inlinable
  public init(
    _ name: String,
    _ body: @escaping @Sendable (Input) async throws -> Output
  ) {
    self.init(name, code: Self.code(body))
  }

  /// Creates a chain of one step that you can undo, like a step that `then` appends with an undo.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors and diagrams.
  ///   - undo: Undoes the step; receives its output.
  ///   - body: Receives the chain's input. An error that it throws ends the run.
  @inlinable
  public init(
    _ name: String? = nil,
    undo: @escaping @Sendable (Output) async throws -> Void,
    _ body: @escaping @Sendable (Input) async throws -> Output
  ) {
    self.init(name, undo: undo, code: Self.code(body))
  }

  /// Creates a chain of one step.
  public init(_ step: Step<Input, Output>) {
    self.init(Path(step.kind, isReusable: true))
  }

  /// Appends a step: a closure or a function.
  ///
  /// The closure runs off the caller's actor, unless it is isolated to one.
  @inlinable
  public nonisolated func then<Next: Sendable>(
    _ body: @escaping @Sendable (Output) async throws -> Next
  ) -> Chain<Input, Next> {
    appending(nil, code: Chain<Output, Next>.code(body))
  }

  /// Appends a step with a name: a closure or a function.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors and diagrams.
  ///   - body: Receives the output of the previous step. An error that it throws ends the run.
  /// - Returns: A new chain; this one is unchanged.
  @inlinable
  public nonisolated func then<Next: Sendable>(
    _ name: String,
    _ body: @escaping @Sendable (Output) async throws -> Next
  ) -> Chain<Input, Next> {
    // Not a default for `undo` below: with two overloads that fit `then { … }`, a chain of ten takes the compiler 12 s.
    appending(name, code: Chain<Output, Next>.code(body))
  }

  /// Appends a step that can be undone.
  ///
  /// When a later step fails, or the run is cancelled, the completed steps are undone, newest first. The undos are
  /// shielded from cancellation and may suspend; each of them is called, even after another one has failed. An undo
  /// that throws is reported to `onError` as an ``UndoError``.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors and diagrams.
  ///   - undo: Undoes the step; receives its output.
  ///   - body: Receives the output of the previous step. An error that it throws ends the run.
  /// - Returns: A new chain; this one is unchanged.
  @inlinable
  public nonisolated func then<Next: Sendable>(
    _ name: String? = nil,
    undo: @escaping @Sendable (Next) async throws -> Void,
    _ body: @escaping @Sendable (Output) async throws -> Next
  ) -> Chain<Input, Next> {
    appending(name, undo: undo, code: Chain<Output, Next>.code(body))
  }

  /// Appends a step that transforms the elements of a sequence concurrently.
  ///
  /// The first failure cancels the other elements and awaits them, and then ends the step.
  ///
  /// The step reports its progress by element; what ``StepProgress`` reports within an element is that element's share.
  /// A sequence that cannot count its elements in advance has no progress until it has ended.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors and diagrams.
  ///   - maxConcurrent: The maximum number of elements that are transformed concurrently; values below one count as
  ///     one.
  ///   - transform: Receives one element.
  /// - Returns: A new chain, whose output is in the order of the sequence; this one is unchanged.
  public nonisolated func thenMap<Element: Sendable>(
    _ name: String? = nil,
    maxConcurrent: Int,
    _ transform: @escaping @Sendable (Output.Element) async throws -> Element
  ) -> Chain<Input, [Element]> where Output: Sequence, Output.Element: Sendable {
    let code: StepCode = { frame in
      let elements: Output = frame.slot.take()
      frame.slot.put(try await mapped(elements, maxConcurrent: maxConcurrent, transform))
    }
    return appending(name, code: code)
  }

  /// Appends a step that transforms the elements of a sequence concurrently and keeps the failures.
  ///
  /// Use it for a batch whose elements are independent. An element that fails cancels nothing: the steps that it has
  /// completed are undone, and its error is in the output. The run's cancellation is not kept; it ends the step. A durable
  /// run stores the errors like those of steps.
  ///
  /// The progress is that of ``thenMap(_:maxConcurrent:_:)``.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors and diagrams.
  ///   - maxConcurrent: The maximum number of elements that are transformed concurrently; values below one count as
  ///     one.
  ///   - failures: What to do with the error of an element.
  ///   - transform: Receives one element.
  /// - Returns: A new chain, whose output has a value or an error for each element, in the order of the sequence.
  public nonisolated func thenMap<Element: Sendable>(
    _ name: String? = nil,
    maxConcurrent: Int,
    failures: ElementFailures,
    _ transform: @escaping @Sendable (Output.Element) async throws -> Element
  ) -> Chain<Input, [Result<Element, any Error>]> where Output: Sequence, Output.Element: Sendable {
    thenMap(name, maxConcurrent: maxConcurrent) { element in
      do {
        return .success(try await Step<Output.Element, Element>.makeAttempts { try await transform(element) })
      } catch {
        // Of the run, which ends with it; a `CancellationError` of the element alone is an error like any other.
        if Scope.current.innermostRun?.isCancellationRequested ?? Task.isCancelled { throw error }
        return .failure(error)
      }
    }
  }

  /// The erased form of a closure, built at the call site, for concrete types: a step needs no thunk.
  @inlinable
  static func code(
    _ body: @escaping @Sendable (Input) async throws -> Output
  ) -> StepCode {
    { frame in
      let output = try await body(frame.slot.take())
      frame.slot.put(output)
    }
  }

  @usableFromInline
  init(_ name: String?, undo: Step<Input, Output>.Undo? = nil, code: @escaping StepCode) {
    self.init(Path(.step(name, undo: undo, code)))
  }

  // Inlined, so that the type of the chain is known where it is created, and not looked up.
  @inlinable
  nonisolated func appending<Next: Sendable>(
    _ name: String?,
    undo: Step<Output, Next>.Undo? = nil,
    code: @escaping StepCode
  ) -> Chain<Input, Next> {
    Chain<Input, Next>(path.appending(.step(name, undo: undo, code)))
  }
}
