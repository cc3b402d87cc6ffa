// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The tokens and the runs that may cancel the current task.
///
/// It is a task-local value, so that a chain knows that cancellation was requested, and why. Task cancellation alone
/// carries no reason.
package struct CancellationScope: Sendable {
  @TaskLocal package static var current: CancellationScope?

  /// The tokens of `withCancellation(by:)` around the task, innermost first; cancelling one cancels the work in this
  /// scope.
  package private(set) var tokens: [CancellationToken] = []

  /// The tokens that a shield keeps away.
  ///
  /// They still reach the runs that start behind it.
  private var shieldedTokens: [CancellationToken] = []

  /// The innermost enclosing run that has its own task.
  ///
  /// It provides only the reason for its cancellation.
  package private(set) var run: (any CancellationSource)?

  private var isShielded = false

  /// The current task, if the innermost run awaits it and it is not the run's own.
  package private(set) var awaitedTask: AwaitedTask?

  package init() {}

  /// The cancellation that a token requested.
  package var request: Cancellation? {
    for token in tokens {
      if let request = token.request { return request }
    }
    return nil
  }

  /// The known cause of a cancellation of the task.
  package var cancellationCause: Cancellation? {
    if let request { return request }
    guard !isShielded, let run, !run.isOver else { return nil }
    return run.request
  }

  package func inside(_ token: CancellationToken) -> CancellationScope {
    var scope = self
    scope.tokens.removeAll { $0 === token }
    scope.shieldedTokens.removeAll { $0 === token }
    scope.tokens.insert(token, at: 0)
    return scope
  }

  /// Calls a closure that starts work which a token cancels, if there is one.
  static func adding<Result>(_ token: CancellationToken?, _ start: () -> Result) -> Result {
    guard let token else { return start() }
    return $current.withValue((current ?? CancellationScope()).inside(token), operation: start)
  }

  /// Returns the scope of a run that is awaited here.
  package func inside(_ run: any CancellationSource) -> CancellationScope {
    var scope = self
    scope.run = run
    scope.awaitedTask = nil
    scope.isShielded = false
    return scope
  }

  /// The scope of a run that `start` starts here: all tokens, and no run, because none awaits it.
  ///
  /// The run outlives a shield, so tokens behind the shield reach it, unless they were cancelled before.
  package var ofStartedRuns: CancellationScope {
    var scope = CancellationScope()
    scope.tokens = tokens
    // Most scopes have none, and then the array is shared.
    if !shieldedTokens.isEmpty { scope.tokens += shieldedTokens.filter { !$0.isCancelled } }
    return scope
  }

  /// Whether the current task is the innermost run's own or one that it awaits, and not one that was created there.
  package var isOfThisTask: Bool {
    let task = awaitedTask?.task ?? run?.task ?? 0
    return task != 0 && task == Platform.currentTask
  }

  /// Whether the innermost run awaits the current task.
  package var isAwaited: Bool {
    guard let run, isOfThisTask else { return false }
    return !run.isOver && (awaitedTask?.isAwaited ?? true)
  }

  /// Returns the scope for the current task, which the innermost run awaits.
  package func inThisTask(_ awaited: AwaitedTask) -> CancellationScope {
    awaited.begin()
    var scope = self
    scope.awaitedTask = awaited
    return scope
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
    guard StepContext.current == nil else {
      return await StepContext.$current.withValue(nil) {
        await withCancellationShield(isCancelled: isCancelled, operation)
      }
    }
    guard var scope = current else { return isCancelled ? await shielded(operation) : await operation() }
    let awaited = AwaitedTask.make()
    scope.shieldedTokens = scope.tokens + scope.shieldedTokens
    scope.tokens = []
    scope.isShielded = true
    return await $current.withValue(scope) {
      guard isCancelled else { return await operation() }
      return await shielded { await awaited.run { await operation() } }
    }
  }
}

/// A run with its own task.
package protocol CancellationSource: AnyObject, Sendable {
  /// Returns whether this call cancelled it.
  @discardableResult
  func cancel(reason: String?) -> Bool

  var request: Cancellation? { get }

  /// Whether it has ended, including its handlers.
  var isOver: Bool { get }

  /// The identifier of its task; 0 before that has started.
  var task: Int { get }
}

/// The destination for reports of a running step, when the run may be observed.
package protocol StepReporting: Sendable {
  /// Reports the completed fraction of the step, from 0 to 1.
  func report(_ fraction: Double)

  /// Reports that the step is about to be retried; `attempt` counts the first attempt.
  func retrying(attempt: Int, after error: any Error)

  /// Returns a destination for work that the step may abandon; it ignores what that work reports afterwards.
  func reporting(while isOpen: @escaping @Sendable () -> Bool) -> any StepReporting
}

/// Provides the destination for reports to code inside a step.
package enum StepContext {
  @TaskLocal package static var current: (any StepReporting)?

  /// Whether there is one; the value itself would take memory in the frame of each function that asks.
  @inline(never)
  static var isSet: Bool { current != nil }
}
