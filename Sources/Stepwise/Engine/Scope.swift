// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What surrounds the running code: the run and the step that it belongs to, the tokens, and the observers.
///
/// It is the only task-local value that runs bind, so that reading it takes the same time at any depth: a second one
/// would be searched for behind all bindings of the first.
package enum Scope: Sendable {
  @TaskLocal package static var current: Scope?

  /// In a run: in one of its steps, or between them.
  case run(Execution, step: RecordedStep?)
  /// In a part of a run, in its handlers, or outside of runs.
  case part(ScopePart)

  /// The innermost run that the code belongs to.
  var execution: Execution? {
    switch self {
    case .run(let execution, _): execution
    case .part(let part): part.execution
    }
  }

  var surroundings: Surroundings {
    switch self {
    case .run(let execution, _): execution.surroundings
    case .part(let part): part.surroundings
    }
  }

  /// Where the running step reports; nil outside of steps that are recorded.
  package var step: RecordedStep? {
    switch self {
    case .run(_, let step): step
    case .part(let part): part.step
    }
  }

  /// The part of the run that stores the undos of steps here; nil for the run itself.
  var steps: StepPart? {
    switch self {
    case .run: nil
    case .part(let part): part.steps
    }
  }

  /// The innermost run whose steps the code may add to; nil in handlers and undos.
  var innermostRun: Execution? { isShielded ? nil : execution }

  /// The journal of the innermost run, outside of its handlers and undos.
  package static var currentJournal: (any RunJournal)? { current?.innermostRun?.journal }

  /// Whether the code is a handler or an undo, which the cancellation of its run does not reach.
  var isShielded: Bool {
    switch self {
    case .run: false
    case .part(let part): part.isShielded
    }
  }

  /// The innermost run with its own task that has not completed.
  var startedRun: StartedRun? {
    guard let execution, let run = execution.started ?? execution.enclosing else { return nil }
    return run.isOver ? run.enclosing : run
  }

  /// The runs with their own task around the code, innermost first.
  var startedRuns: some Sequence<StartedRun> {
    sequence(state: startedRun) { next in
      defer { next = next?.enclosing }
      return next
    }
  }

  /// Throws instead of waiting for a run that cannot complete before the current step or handler does.
  ///
  /// That is a run around it, and one that waits for the only slot of a gate that a run around it holds.
  static func checkReentrancy(of run: StartedRun) throws {
    guard let current else { return }
    // One that is cancelled leaves the queue.
    let isWaiting = run.slot.isWaiting && !run.isCancellationRequested
    for outer in current.startedRuns where outer === run || (isWaiting && outer.blocks(run.entrance)) {
      throw ChainError.reentrant
    }
  }

  /// The known cause of a cancellation of the task.
  package var cancellationCause: Cancellation? {
    if let request = surroundings.request { return request }
    return isShielded ? nil : startedRun?.request
  }

  /// Returns this scope for one step, or for the work of a run that has no step.
  func inside(step: RecordedStep?) -> Scope {
    switch self {
    case .run(let execution, _): .run(execution, step: step)
    case .part(let part):
      .part(ScopePart(part.execution, step: step, part.surroundings, isShielded: part.isShielded, steps: part.steps))
    }
  }

  /// Returns this scope for a part of its run.
  func inside(_ steps: StepPart, step: RecordedStep?) -> Scope {
    .part(ScopePart(execution, step: step, surroundings, isShielded: false, steps: steps))
  }

  /// Returns the current scope with a token around it.
  static func inside(_ token: CancellationToken) -> Scope { changed { $0 = $0.inside(token) } }

  /// Calls a closure that starts work which a token cancels, if there is one.
  static func adding<Result>(_ token: CancellationToken?, _ start: () -> Result) -> Result {
    guard let token else { return start() }
    return $current.withValue(.inside(token), operation: start)
  }

  /// Returns the current scope with other observers.
  static func observed(by observation: ObservationScope) -> Scope { changed { $0.observation = observation } }

  private static func changed(_ change: (inout Surroundings) -> Void) -> Scope {
    let scope = current
    var surroundings = scope?.surroundings ?? .none
    change(&surroundings)
    let isShielded = scope?.isShielded ?? false
    return .part(
      ScopePart(scope?.execution, step: scope?.step, surroundings, isShielded: isShielded, steps: scope?.steps)
    )
  }

  /// Runs handlers shielded from cancellation and without a step to report to.
  ///
  /// - Parameters:
  ///   - isCancelled: Whether the task is cancelled or may be cancelled meanwhile. Otherwise no shield is needed.
  ///   - operation: Calls the handlers, off the caller's actor.
  /// - Returns: What the operation returns.
  package nonisolated(nonsending) static func withCancellationShield<Value: Sendable>(
    isCancelled: Bool = true,
    _ operation: @escaping @Sendable () async -> Value
  ) async -> Value {
    let scope = current.map { scope in
      Scope.part(ScopePart(scope.execution, step: nil, scope.surroundings.shielded, isShielded: true))
    }
    return await $current.withValue(scope) { isCancelled ? await shielded(operation) : await operation() }
  }
}

/// A scope that a run alone does not describe.
package final class ScopePart: Sendable {
  let execution: Execution?
  let step: RecordedStep?
  let surroundings: Surroundings
  let isShielded: Bool
  let steps: StepPart?

  init(
    _ execution: Execution?,
    step: RecordedStep?,
    _ surroundings: Surroundings,
    isShielded: Bool,
    steps: StepPart? = nil
  ) {
    self.execution = execution
    self.step = step
    self.surroundings = surroundings
    self.isShielded = isShielded
    self.steps = steps
  }
}

/// The tokens and observers around some code.
struct Surroundings: Sendable {
  /// The tokens of `withCancellation(by:)`, innermost first; cancelling one cancels the code.
  var tokens: [CancellationToken] = []
  /// The tokens that a shield keeps away; they still reach the runs that start behind it.
  private var shieldedTokens: [CancellationToken] = []
  /// The observers and traces; nil without any.
  var observation: ObservationScope?

  static let none = Surroundings()

  /// The cancellation that a token requested.
  var request: Cancellation? {
    for token in tokens {
      if let request = token.request { return request }
    }
    return nil
  }

  func inside(_ token: CancellationToken) -> Surroundings {
    var inner = self
    inner.tokens.removeAll { $0 === token }
    inner.shieldedTokens.removeAll { $0 === token }
    inner.tokens.insert(token, at: 0)
    return inner
  }

  var shielded: Surroundings {
    var inner = self
    inner.shieldedTokens = tokens + shieldedTokens
    inner.tokens = []
    return inner
  }

  /// Those of a run that `start` starts here.
  ///
  /// The run outlives a shield, so tokens behind the shield reach it, unless they were cancelled before.
  var ofStartedRuns: Surroundings {
    // Most have none, and then the array is shared.
    guard !shieldedTokens.isEmpty else { return self }
    var own = self
    own.tokens += shieldedTokens.filter { !$0.isCancelled }
    own.shieldedTokens = []
    return own
  }
}

/// An error thrown when a chain or a step is used where it would hang, or could not be undone.
public struct ChainError: Error, Hashable, CustomStringConvertible {
  private enum Kind {
    case reentrant, outsideRun
  }

  private let kind: Kind

  /// A step or a handler awaited a run that waits for that step or handler, directly or through other runs.
  ///
  /// A run waits for what its steps await, in its own task and in those that the library creates for it (`timeout`,
  /// `abandon`, `zip`, `race`, `thenMap`, `withCancellation`), and in the queue of its chain for the run in flight.
  /// A job waits in a serial queue for the job that runs there.
  /// `run` of a chain with an overlap policy also throws this error in any task that one of its steps created. Use
  /// `start` there, which does not wait, and await the value outside of the step.
  public static let reentrant = ChainError(kind: .reentrant)

  /// A step that can be undone began outside of a run, or in an undo or a handler, where nothing would undo it.
  public static let outsideRun = ChainError(kind: .outsideRun)

  /// Matches an error in a `catch` clause.
  public static func ~= (pattern: ChainError, error: any Error) -> Bool { (error as? ChainError) == pattern }

  /// What was wrong, and what to do instead.
  public var description: String {
    switch kind {
    case .reentrant:
      "A step or handler awaited a run that waits for that step or handler, so neither could complete. "
        + "Call `start` there, and await the run outside of the step."
    case .outsideRun:
      "A step with `undo:` began outside of a run, or in an undo or handler, so nothing would undo it. "
        + "Call `step` in the step of a chain, or leave out `undo:`."
    }
  }
}

extension ObservationScope {
  /// The observers and traces around the current code.
  static var current: ObservationScope? { Scope.current?.surroundings.observation }
}
