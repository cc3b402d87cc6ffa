// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A handle for cancelling, awaiting and observing a run that `start` started.
///
/// Releasing the handle does not cancel the run.
public final class Run<Output: Sendable>: Sendable {
  private let state: StartedRun
  private let task: Task<Void, any Error>
  let recorder: RunRecorder

  convenience init<Input: Sendable>(of chain: ChainCore, input: Input, priority: TaskPriority? = nil) {
    let run = StartedRun(of: chain.program, entrance: chain.entrance, input: ValueSlot(input))
    self.init(of: chain, run, priority: priority)
  }

  convenience init(of chain: ChainCore, with journal: any RunJournal) {
    let run = StartedRun(of: chain.program, entrance: chain.entrance, input: ValueSlot(), journal: journal)
    self.init(of: chain, run, priority: nil)
  }

  init(of chain: ChainCore, _ run: StartedRun, priority: TaskPriority?) {
    recorder = RunRecorder(of: chain.program, .make(for: chain.program, in: .current))
    state = run
    task = chain.launch(run, of: .handle(recorder, priority))
  }

  deinit {
    recorder.forget()
    state.forget()
  }

  /// Cancels the run.
  ///
  /// The running step is interrupted immediately, through task cancellation, and no further step starts.
  ///
  /// - Parameter reason: The reason, for handlers and outcomes.
  /// - Returns: A Boolean value that indicates whether this call cancelled the run: `false` when it was already
  ///   cancelled or its outcome was already decided. If the last step has already produced a value, the run still
  ///   succeeds with it.
  @discardableResult
  public func cancel(reason: String? = nil) -> Bool { state.cancelForGood(reason: reason) }

  /// A Boolean value that indicates whether the run has completed, including its handlers.
  public var isFinished: Bool { state.isOver }

  /// The run's value, once the run has completed.
  ///
  /// When the waiting task is cancelled, this throws in that task and does not affect the run. The value of a completed
  /// run is returned in a cancelled task as well.
  public var value: Output {
    get async throws {
      if !isFinished { try state.checkReentrancy() }
      if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        task.escalatePriority(to: Task.currentPriority)
      }
      if await state.completion.value() != nil, let outcome: Outcome<Output> = state.outcome() {
        return try outcome.get()
      }
      guard isFinished else { throw CancellationError() }
      return try await finalOutcome.get()
    }
  }

  /// The run's outcome, once the run has completed; the wait ignores cancellation of the waiting task.
  ///
  /// The outcome is `.failed` with ``ChainError/reentrant`` when the run cannot complete before the step that awaits it.
  public var outcome: Outcome<Output> {
    get async {
      do {
        if !isFinished { try state.checkReentrancy() }
        return await finalOutcome
      } catch {
        return .failed(error)
      }
    }
  }

  var finalOutcome: Outcome<Output> {
    get async {
      _ = await task.result
      // There is one: the handle, which this method retains, is the only one to drop the output.
      return state.outcome() ?? .cancelled(Cancellation())
    }
  }

  /// The step that failed, once the run has failed; nil while it runs, when it has a value and when it was cancelled.
  ///
  /// It is available before code that awaits the run resumes, and before ``ChainEvent/ended(_:)`` is received.
  public var failedStep: ChainStep? { state.end?.failedStep }

  /// The errors of undos so far.
  public var undoErrors: [UndoError] { state.undoErrors }

  /// The events of the run from its start, for any number of subscribers, at any time.
  ///
  /// If you subscribe late, you receive for each step that it started and its latest state, and then what follows. A
  /// slow subscriber misses superseded events, but never the last one. The sequence ends after
  /// ``ChainEvent/ended(_:)``, or when the iterating task is cancelled. Each iterator is an independent subscription.
  /// A run retains its newest 1,024 steps.
  public var events: some AsyncSequence<ChainEvent, Never> & Sendable { recorder.events(of: self) }

  /// The progress of the run, for any number of subscribers, at any time.
  ///
  /// It starts with the current progress. A slow subscriber receives the newest element. The sequence ends after the
  /// last element of the run, or when the iterating task is cancelled.
  public var progress: some AsyncSequence<ChainProgress, Never> & Sendable { recorder.progress(of: self) }

  /// What the run has recorded so far.
  package var reading: RunReading { recorder.reading() }
}
