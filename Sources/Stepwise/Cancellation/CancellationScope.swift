// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The tokens, and the runs, that the current Task works under.
///
/// It travels as a task-local, so that a chain knows that it was asked to stop, and why, when all that reaches it otherwise
/// is plain Task cancellation.
package struct CancellationScope: Sendable {
  @TaskLocal package static var current: CancellationScope?

  /// The tokens of `withCancellation(by:)` around the Task, innermost first: cancelling one requests cancellation here.
  package private(set) var tokens: [CancellationToken] = []

  /// Those that a shield keeps away, which still reach what is started behind it.
  private var shieldedTokens: [CancellationToken] = []

  /// The runs with a Task of their own around this one, innermost first, which only know why the Task was cancelled.
  package private(set) var enclosing: [any CancellationSource] = []

  private var isShielded = false

  /// The Task that this is the scope of, which Tasks made there inherit the rest of this from.
  private var task: Int?

  /// The Task, if it is one that the innermost run waits for and not the run's own.
  package private(set) var awaitedTask: AwaitedTask?

  package init() {}

  /// What a token asked for.
  package var request: Cancellation? {
    for token in tokens {
      if let request = token.request { return request }
    }
    return nil
  }

  /// What is known of a cancellation of the Task itself.
  package var cancellationCause: Cancellation? {
    if let request { return request }
    guard !isShielded, let run = enclosing.first, !run.isOver else { return nil }
    return run.request
  }

  package func inside(_ token: CancellationToken) -> CancellationScope {
    var scope = self
    scope.tokens.removeAll { $0 === token }
    scope.shieldedTokens.removeAll { $0 === token }
    scope.tokens.insert(token, at: 0)
    return scope
  }

  /// The scope of a run that is awaited here.
  package func inside(_ source: any CancellationSource) -> CancellationScope {
    var scope = self
    scope.enclosing.removeAll { $0.isOver }
    scope.enclosing.insert(source, at: 0)
    scope.isShielded = false
    return scope
  }

  /// What reaches a run that is started here: no run, since none awaits it, and all tokens.
  ///
  /// It outlives the shield, so that a token behind the shield reaches it, too, unless that was cancelled before.
  package var ofStartedRuns: CancellationScope {
    var scope = CancellationScope()
    scope.tokens = tokens + shieldedTokens.filter { !$0.isCancelled }
    return scope
  }

  /// Whether this scope was made for the current Task, and not inherited by it from the Task that made it.
  package var isOfThisTask: Bool { task != nil && task == Self.currentTask }

  /// Whether the innermost run waits for the current Task.
  package var isAwaited: Bool {
    guard let run = enclosing.first, isOfThisTask else { return false }
    return !run.isOver && (awaitedTask?.isAwaited ?? true)
  }

  /// The scope in the current Task, which the innermost run waits for.
  package func inThisTask(_ awaited: AwaitedTask? = nil) -> CancellationScope {
    var scope = self
    scope.task = Self.currentTask
    scope.awaitedTask = awaited
    return scope
  }

  private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }

  /// Runs handlers, which cancellation does not reach, and which report for no step.
  ///
  /// - Parameters:
  ///   - isCancelled: Whether the Task is, or may be cancelled meanwhile. One that is not, and will not be, needs no shield.
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

/// Something that was, or was not, asked to stop.
package protocol CancellationSource: AnyObject, Sendable {
  var request: Cancellation? { get }

  /// Whether it has ended, handlers included.
  var isOver: Bool { get }
}
