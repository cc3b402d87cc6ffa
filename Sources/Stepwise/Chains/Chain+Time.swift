// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Limits the total duration of the previous steps.
  ///
  /// When the time is up, the running step is cancelled and awaited, what was completed is undone, and ``TimeoutError``
  /// is thrown, which names that step. A value that the last step still returns is the output. Use
  /// ``abandon(after:clock:discarding:)`` for steps that ignore cancellation.
  ///
  /// - Parameters:
  ///   - duration: The time limit for the previous steps together.
  ///   - clock: The clock that measures the time.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func timeout(
    _ duration: Duration,
    clock: any Clock<Duration> = ContinuousClock()
  ) -> Chain {
    let code: StepCode = { frame in
      let steps = CoveredSteps(coveredBy: &frame, undos: nil)
      do {
        try await limited(to: TimeLimit(duration: duration, clock: clock)) {
          steps.currentStep
        } operation: {
          try await steps.run()
        }
        frame.slot = steps.takeValue()
      } catch {
        frame.recording?.timedOut(frame.execution.firstStep..<frame.index, error: error)
        frame.undosIfAny?.markAll()
        throw error
      }
    }
    return Chain(path.appending(.enclosing(how: "timeout \(duration)", code)))
  }

  /// Limits the total duration of the previous steps, and stops waiting for them when the time is up.
  ///
  /// ``TimeoutError`` is then thrown after the completed steps are undone. The running step is cancelled
  /// and continues without being awaited. No further step follows it, and if it can be undone, it is undone when it
  /// completes.
  ///
  /// - Parameters:
  ///   - duration: The time limit for the previous steps together.
  ///   - clock: The clock that measures the time.
  ///   - discard: Receives a value that the abandoned steps return, for example to release a resource.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func abandon(
    after duration: Duration,
    clock: any Clock<Duration> = ContinuousClock(),
    discarding discard: nonisolated(nonsending) @escaping @Sendable (Output) async -> Void = { _ in }
  ) -> Chain {
    let code: StepCode = { frame in
      let undos = UndoStack()
      let steps = CoveredSteps(coveredBy: &frame, undos: undos)
      let end = await abandoned(after: TimeLimit(duration: duration, clock: clock), undos: undos) {
        steps.currentStep
      } discarding: {
        var late = steps.takeValue()
        await discard(late.take())
      } operation: { isAwaited in
        try await steps.run(isAwaited: isAwaited)
      }
      if case .inTime(.success) = end {
        await frame.adopt(undos.takeAll(closing: true).reversed())
        frame.slot = steps.takeValue()
        return
      }
      let execution = frame.execution
      if case .expired(let error) = end {
        frame.recording?.abandon(execution.firstStep..<frame.index, error: error)
      }
      execution.setFork(nil)
      await frame.adopt(undos.takeAll(closing: true).reversed(), isMarked: true)
      try end.get()
    }
    return Chain(path.appending(.enclosing(how: "abandon after \(duration)", code)))
  }

  /// Runs the previous steps on an executor.
  ///
  /// - Parameter executor: The executor for the steps that are not isolated to an actor with its own.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func executor(_ executor: any TaskExecutor) -> Chain {
    let code: StepCode = { frame in
      let part = frame.covered
      try await onExecutor(executor) { try await frame.perform(part: part) }
    }
    return Chain(path.appending(.enclosing(how: "executor", code)))
  }
}
