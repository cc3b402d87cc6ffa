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
      let input: Input = frame.baton.take()
      let part = Part(covered: frame)
      let (output, undos): (Output, [UndoStack.Entry]) = try await limited(to: duration, clock: clock) {
        part.context.currentStep.description
      } operation: {
        try await part.run(input)
      }
      await frame.adopt(undos)
      frame.baton.put(output)
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
      let input: Input = frame.baton.take()
      let part = Part(covered: frame)
      let stack = UndoStack()
      do {
        let (output, undos): (Output, [UndoStack.Entry]) = try await abandoned(after: duration, clock: clock) {
          part.context.currentStep.description
        } discarding: { (late: (Output, [UndoStack.Entry])) in
          await discard(late.0)
          await part.context.undoLate(late.1.reversed())
        } operation: {
          try await part.run(input, undos: stack)
        }
        await frame.adopt(undos)
        frame.baton.put(output)
      } catch {
        await frame.adopt(stack.takeAll(closing: true).reversed())
        await frame.undoAll()
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
