// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Limits the time of the steps before.
  ///
  /// When it is up, the step that runs is cancelled and waited for, what was completed is undone, and ``TimeoutError`` is
  /// thrown, which names that step. A value that the last of them returns all the same wins. Use
  /// ``abandon(after:clock:discarding:)`` for steps that do not heed cancellation.
  ///
  /// - Parameters:
  ///   - duration: How long the steps before may take together.
  ///   - clock: What the time is measured on.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func timeout(
    _ duration: Duration,
    clock: any Clock<Duration> = ContinuousClock()
  ) -> Chain {
    let code: StepCode = { frame in
      let input: Input = frame.slot.take()
      let steps = CoveredSteps(coveredBy: frame, undos: frame.sharedUndos())
      do {
        let output: Output = try await limited(to: duration, clock: clock) {
          steps.context.currentStep.description
        } operation: {
          try await steps.run(input)
        }
        frame.slot.put(output)
      } catch {
        frame.markUndos()
        throw error
      }
    }
    return Chain(core: core.appending(.enclosing(how: "timeout \(duration)", code)))
  }

  /// Limits the time of the steps before, and does not wait for them when it is up.
  ///
  /// ``TimeoutError`` is thrown at once then, after what was completed so far is undone. The step that runs is cancelled and
  /// goes on by itself to its end; no further step follows it, and if it can be undone it is undone then, too.
  ///
  /// - Parameters:
  ///   - duration: How long the steps before may take together.
  ///   - clock: What the time is measured on.
  ///   - discard: Is given the value that comes out too late, to release what it holds.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func abandon(
    after duration: Duration,
    clock: any Clock<Duration> = ContinuousClock(),
    discarding discard: nonisolated(nonsending) @escaping @Sendable (Output) async -> Void = { _ in }
  ) -> Chain {
    let code: StepCode = { frame in
      let input: Input = frame.slot.take()
      let undos = UndoStack()
      let steps = CoveredSteps(coveredBy: frame, undos: undos)
      do {
        let output: Output = try await abandoned(after: duration, clock: clock) {
          steps.context.currentStep.description
        } discarding: { late in
          await discard(late)
        } operation: { isAwaited in
          try await steps.run(input, isAwaited: isAwaited)
        }
        await frame.adopt(undos.takeAll().reversed())
        frame.slot.put(output)
      } catch {
        frame.recorder?.abandon(frame.context.firstStep..<frame.index, error: error)
        frame.context.setChildren(nil)
        await frame.adopt(undos.takeAll(closing: true).reversed(), isMarked: true)
        throw error
      }
    }
    return Chain(core: core.appending(.enclosing(how: "abandon after \(duration)", code)))
  }

  /// Runs the steps before on an executor.
  ///
  /// - Parameter executor: The executor that those steps prefer which are not bound to an actor with its own.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func executor(_ executor: any TaskExecutor) -> Chain {
    let code: StepCode = { frame in
      let part = frame.covered
      try await onExecutor(executor) { try await frame.perform(part: part) }
    }
    return Chain(core: core.appending(.enclosing(how: "executor", code)))
  }
}
