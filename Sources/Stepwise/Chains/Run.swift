// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A run that was begun by `start`: to cancel it, to wait for it, and to look at it.
///
/// Letting the handle go cancels nothing.
public final class Run<Output: Sendable>: Sendable {
  private let launch: Launch
  private let end: Once<Outcome<RunOutput>>
  private let recorder: RunRecorder

  init<Input: Sendable>(
    of chain: ChainCore,
    input: Input,
    priority: TaskPriority? = nil,
    listener: (any RunListener)? = nil
  ) {
    let program = chain.program
    let recorder = RunRecorder(stepCount: program.stepCount, names: program.names)
    let end = Once<Outcome<RunOutput>>()
    self.recorder = recorder
    self.end = end
    launch = chain.launch(
      recorder: recorder,
      priority: priority,
      listener: listener,
      load: { $0.put(input) },
      end: end
    )
  }

  deinit { recorder.forget() }

  /// Cancels the run.
  ///
  /// The running step is interrupted at once, as Task cancellation, and no further step begins.
  ///
  /// - Parameter reason: Why, for those who are told.
  /// - Returns: Whether this call cancelled the run: `false` when it was cancelled before, or when what it ends with was
  ///   decided already. (A value that the last step returns all the same is still the run's value.)
  @discardableResult
  public func cancel(reason: String? = nil) -> Bool { launch.run.cancel(reason: reason) }

  /// Whether the run has ended, handlers included.
  public var isFinished: Bool { launch.run.isOver }

  /// Waits for the run's value.
  ///
  /// When the Task that waits is cancelled this throws there, and leaves the run alone. A run that has ended gives its
  /// value to a cancelled Task as well.
  public var value: Output {
    get async throws {
      try await launch.run.whileAwaited { try await valueOfEnd }
    }
  }

  private var valueOfEnd: Output {
    get async throws {
      if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        launch.task.escalatePriority(to: Task.currentPriority)
      }
      if let outcome = await end.value() { return try outcome.get().value() }
      guard isFinished else { throw CancellationError() }
      return try await finalOutcome.get()
    }
  }

  /// Waits for the run's end, whatever happens to the Task that waits.
  ///
  /// It is `.failed` with ``ChainError/reentrant`` when the run waits for the step that awaits it. In a Task that such a step
  /// made, where that cannot be told, cancellation of that Task ends the wait so.
  public var outcome: Outcome<Output> {
    get async {
      let run = launch.run
      if let scope = CancellationScope.current, !scope.isOfThisTask, await end.value() == nil,
        scope.enclosing.contains(where: { ($0 as? RunCore).map(run.waits) ?? false })
      {
        return .failed(ChainError.reentrant)
      }
      do {
        return try await run.whileAwaited { await finalOutcome }
      } catch {
        return .failed(error)
      }
    }
  }

  var finalOutcome: Outcome<Output> {
    get async { await launch.task.value.outcome.map { $0.value() } }
  }

  /// The undos that failed so far.
  public var undoErrors: [UndoError] { launch.undoLog?.all ?? [] }

  /// What happens in the run, from its beginning, for any number of consumers, at any time.
  public var events: ChainEvents { ChainEvents(recorder: recorder, run: self) }

  /// How far the run is, for any number of consumers, at any time.
  public var progress: ChainProgressUpdates { ChainProgressUpdates(recorder: recorder, run: self) }
}
