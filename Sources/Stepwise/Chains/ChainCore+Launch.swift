// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A run that has been given a Task of its own.
struct Launch<Output: Sendable>: Sendable {
  let run: RunCore
  let context: RunContext
  let task: Task<Conclusion<Output>, Never>
}

extension ChainCore {
  /// Admits a run and gives it a Task, which everybody who may cancel the run can cancel.
  ///
  /// Admission is decided before this returns, so that it follows the order of the calls.
  ///
  /// - Parameters:
  ///   - input: The first step's input.
  ///   - isCancelled: Whether the Task that will wait for the run is cancelled already.
  ///   - outer: The run that this one is a step of.
  ///   - firstStep: The index that events give to the first step.
  ///   - recorder: Who keeps what happens.
  ///   - settle: Told the outcome when all is done, the last thing of all.
  /// - Returns: The run, its Task, and what its steps know of it.
  func launch<Input: Sendable, Output: Sendable>(
    _ input: Input,
    isCancelled: Bool = false,
    outer: RunContext? = nil,
    firstStep: Int = 0,
    recorder: RunRecorder? = nil,
    settle: @escaping @Sendable (Outcome<Output>) -> Void = { _ in }
  ) -> Launch<Output> {
    flight.begin()
    let run = RunCore(chain: self)
    let place = admit(run)
    let membership = family.add(run)
    // Looked at after the run can be found: a `cancelRuns` either finds it or came before it.
    let epoch = epoch
    let scope = CancellationScope.current ?? CancellationScope()
    let registrations = scope.tokens.map { token in token.onCancel { reason in _ = run.cancel(reason: reason) } }
    if isCancelled { _ = run.cancel(reason: scope.knownCause?.reason) }
    let innerScope = scope.inside(run)
    let context = RunContext(
      chain: self,
      run: run,
      outer: outer,
      recorder: recorder,
      firstStep: firstStep,
      epoch: epoch
    )
    let task = spawn { () async -> Conclusion<Output> in
      let conclusion: Conclusion<Output> = await CancellationScope.$current.withValue(innerScope) {
        await self.perform(input, at: place, in: context)
      }
      if let place { self.program.gate?.leave(place.id) }
      for registration in registrations { registration.remove() }
      self.family.remove(membership)
      self.flight.end()
      run.end()
      settle(conclusion.outcome)
      return conclusion
    }
    run.attach { task.cancel() }
    return Launch(run: run, context: context, task: task)
  }

  /// Takes a place at the gate, and cancels those who lose theirs; nil where there is no gate, or no place.
  private func admit(_ run: RunCore) -> GateMachine<RunCore>.Arrival? {
    guard let gate = program.gate, let mode = program.overlap.mode else { return nil }
    let arrival = gate.arrive(run, mode: mode)
    let reason = program.overlap.description
    for displaced in arrival.displaced { _ = displaced.cancel(reason: reason) }
    guard arrival.verdict != .refused else {
      _ = run.cancel(reason: reason)
      return nil
    }
    return arrival
  }

  /// Waits for the gate, then runs.
  ///
  /// A run that was cancelled while it waited leaves the queue before its handlers run.
  private func perform<Input: Sendable, Output: Sendable>(
    _ input: Input,
    at place: GateMachine<RunCore>.Arrival?,
    in context: RunContext
  ) async -> Conclusion<Output> {
    if let place, let run = context.run, place.verdict == .waiting, await run.admission.value() == nil {
      program.gate?.leave(place.id)
      return await conclude(.failure(CancellationError()), undos: [], in: context)
    }
    return await execute(input, in: context)
  }

  /// Whether the current Task works inside a run of this chain that holds a place at its gate.
  var isReentered: Bool {
    guard program.gate != nil, let scope = CancellationScope.current else { return false }
    return scope.enclosing.contains { ($0 as? RunCore)?.chain === self && !$0.isOver }
  }
}
