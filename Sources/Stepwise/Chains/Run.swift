// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A run that was begun by `start`: to cancel it, to wait for it, and to look at it.
///
/// Letting the handle go cancels nothing.
public final class Run<Output: Sendable>: Sendable {
  private let launch: Launch
  private let end: Once<Outcome<Parcel>>
  private let recorder: RunRecorder

  init<Input: Sendable>(
    of chain: ChainCore,
    input: Input,
    priority: TaskPriority? = nil,
    listener: (any RunListener)? = nil
  ) {
    let program = chain.program
    let recorder = RunRecorder(stepCount: program.stepCount, names: program.names)
    let end = Once<Outcome<Parcel>>()
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
      if isAwaitedFromInside { throw ChainError.reentrant }
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
  /// Awaited from inside the run itself it is `.failed` with ``ChainError/reentrant``.
  public var outcome: Outcome<Output> {
    get async {
      if isAwaitedFromInside { return .failed(ChainError.reentrant) }
      return await finalOutcome
    }
  }

  var finalOutcome: Outcome<Output> {
    get async { await launch.task.value.outcome.map { $0.value() } }
  }

  /// The undos that failed so far.
  public var undoErrors: [UndoError] { launch.undoLog?.all ?? [] }

  /// What happens in the run, from its beginning, for any number of consumers, at any time.
  public var events: ChainEvents { ChainEvents(recorder: recorder) }

  /// How far the run is, for any number of consumers, at any time.
  public var progress: ChainProgressUpdates { ChainProgressUpdates(recorder: recorder) }

  /// Whether what the run is waiting for waits for the run.
  ///
  /// A Task that was made in a step may wait: nobody waits for it.
  private var isAwaitedFromInside: Bool {
    guard let scope = CancellationScope.current, scope.isInItsTask else { return false }
    return scope.enclosing.contains { $0 === launch.run && !$0.isOver }
  }
}
