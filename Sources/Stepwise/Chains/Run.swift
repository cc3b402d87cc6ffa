// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A handle for cancelling, awaiting and observing a run that `start` started.
///
/// Keep it if you want to show progress or offer a cancel button; you can ignore it otherwise. Releasing the handle
/// does not cancel the run.
///
/// ```swift
/// let run = search.start("swift")
/// run.cancel(reason: "the screen was closed")
/// ```
public class Run<Output: Sendable>: @unchecked Sendable {  // Safety: one Sendable constant, and one in `JobRun`.
  @usableFromInline final let handle: RunHandle

  @inlinable
  init(_ handle: RunHandle) { self.handle = handle }

  deinit {
    // All its subscribers are gone, too.
    if handle.run.performing === handle.run { handle.recorder.forget() }
    handle.run.forget()
  }
}

// Members of extensions cannot be overridden, so they are called directly.
extension Run {
  /// Cancels the run.
  ///
  /// The running step is interrupted immediately, through task cancellation, and no further step starts.
  ///
  /// - Returns: A Boolean value that indicates whether this call cancelled the run: `false` when it was already
  ///   cancelled or its outcome was already decided. If the last step has already produced a value, the run still
  ///   succeeds with it.
  @discardableResult
  public func cancel(reason: String? = nil) -> Bool { handle.run.cancelForGood(reason: reason) }

  /// A Boolean value that indicates whether the run has completed, including its handlers.
  public var isFinished: Bool { handle.run.isCompleted }

  /// The run's value, once the run has completed.
  ///
  /// When the waiting task is cancelled, this throws in that task and does not affect the run. The value of a completed
  /// run is returned in a cancelled task as well.
  @concurrent public var value: Output {
    get async throws {
      let run = handle.run
      if !run.isCompleted {
        try Scope.checkReentrancy(of: run)
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
          handle.task.escalatePriority(to: Task.currentPriority)
        }
        if await run.completion.value() == nil, !run.isCompleted { throw CancellationError() }
      }
      return try run.output()
    }
  }

  /// The run's outcome, once the run has completed; the wait ignores cancellation of the waiting task.
  ///
  /// The outcome is `.failed` with ``ChainError/reentrant`` when the run cannot complete before the step that awaits it.
  @concurrent public var outcome: Outcome<Output> {
    get async {
      do {
        if !isFinished { try Scope.checkReentrancy(of: handle.run) }
        return await finalOutcome
      } catch {
        return .failed(error)
      }
    }
  }

  /// Calls a closure when the run has completed.
  @usableFromInline
  func call(
    priority: TaskPriority? = nil,
    _ completion: @escaping @Sendable (Result<Output, any Error>) async -> Void
  ) {
    _ = spawn(priority: priority) {
      let outcome = await self.finalOutcome
      await completion(Result { try outcome.get() })
    }
  }

  @concurrent var finalOutcome: Outcome<Output> {
    get async {
      _ = await handle.task.result
      return handle.run.outcome()
    }
  }

  /// The step that failed, once the run has failed; nil while it runs, when it has a value and when it was cancelled.
  ///
  /// It is available before code that awaits the run resumes, and before ``ChainEvent/ended(_:)`` is received.
  public var failedStep: ChainStep? { isFinished ? handle.run.failedStep : nil }

  /// The errors of undos so far.
  public var undoErrors: [UndoError] { handle.run.performing.undoErrors }

  /// The events of the run from its start, for any number of subscribers, at any time.
  ///
  /// If you subscribe late, you receive for each step that it started and its latest state, and then what follows. A
  /// slow subscriber misses superseded events, but never the last one. The sequence ends after
  /// ``ChainEvent/ended(_:)``, or when the iterating task is cancelled. Each iterator is an independent subscription.
  /// A run retains its newest 1,024 steps.
  public var events: some AsyncSequence<ChainEvent, Never> & Sendable { handle.recorder.events(of: self) }

  /// The progress of the run, for any number of subscribers, at any time.
  ///
  /// It starts with the current progress. A slow subscriber receives the newest element. The sequence ends after the
  /// last element of the run, or when the iterating task is cancelled.
  public var progress: some AsyncSequence<ChainProgress, Never> & Sendable { handle.recorder.progress(of: self) }

  package var reading: RunReading { handle.recorder.reading() }
}

/// What a handle refers to, without the type of the output.
@usableFromInline
struct RunHandle: Sendable {
  let run: Execution
  let task: Task<Void, any Error>
  let recorder: RunRecorder
}

extension ChainCore {
  /// Starts a run that lives apart from the calling task.
  @usableFromInline
  func start(_ input: consuming ValueSlot, cancelledBy token: CancellationToken? = nil) -> RunHandle {
    start(input, priority: nil, cancelledBy: token)
  }

  func start(
    _ input: consuming ValueSlot,
    priority: TaskPriority?,
    cancelledBy token: CancellationToken? = nil,
    with journal: (any RunJournal)? = nil
  ) -> RunHandle {
    var input: ValueSlot? = input
    if let coalescing, coalescing.applies(with: journal) {
      return Scope.withToken(token) {
        let run = JoinedRun(self, on: input.take() ?? ValueSlot(), as: nil, hasHandle: true, coalescing)
        let task = launch(run, priority: priority)
        // It shows the events of the run that it has joined.
        return RunHandle(run: run, task: task, recorder: run.performing.recording?.recorder ?? run.ownRecorder)
      }
    }
    return start(priority: priority, cancelledBy: token) { recorder in
      let input = input.take() ?? ValueSlot()
      return Execution(of: self, entrance: entrance, input: input, with: journal, for: recorder)
    }.handle
  }

  func start<Made: Execution>(
    priority: TaskPriority? = nil,
    cancelledBy token: CancellationToken?,
    _ makeRun: (RunRecorder) -> Made
  ) -> (run: Made, handle: RunHandle) {
    Scope.withToken(token) {
      let recorder = makeRecorder()
      let run = makeRun(recorder)
      return (run, RunHandle(run: run, task: launch(run, priority: priority), recorder: recorder))
    }
  }
}

// MARK: - What a handle reads of its run

extension Execution {
  /// Releases the output, which no one can read any more.
  func forget() {
    _ = state.withLock { state -> ValueSlot? in
      state.isForgotten = true
      return state.machine.outcome == nil ? nil : state.value.take()
    }
  }

  /// Returns a copy of the output of a run that has completed and whose output is not released, or throws its error.
  func output<Value: Sendable>() throws -> Value {
    try state.withLock { state in
      let outcome = state.machine.outcome
      try outcome?.get()
      // An optional of the value would have its type looked up.
      switch state.value {
      case .some(let output) where outcome != nil: return output.copy(as: Value.self)
      // Safety: Callers have waited for the completion, and release the output themselves or retain the run's handle.
      default: preconditionFailure("The output of a run was read before its end or after its release.")
      }
    }
  }

  func outcome<Value: Sendable>() -> Outcome<Value> {
    do {
      return .resolved(try output())
    } catch {
      if case .cancelled(let cancellation) = completed { return .cancelled(cancellation) }
      return .failed(error)
    }
  }
}
