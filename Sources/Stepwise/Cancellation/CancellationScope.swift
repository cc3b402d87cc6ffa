// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The tokens, and the runs, that the current Task works under.
///
/// It travels as a task-local, so that a chain knows that it was asked to stop, and why, when all that reaches it otherwise
/// is plain Task cancellation.
package struct CancellationScope: Sendable {
  @TaskLocal package static var current: CancellationScope?

  /// The tokens of `withCancellation(by:)` around the Task, innermost first: cancelling one of them asks.
  package private(set) var tokens: [CancellationToken] = []

  /// The runs with a Task of their own around this one, innermost first, which only know why the Task was cancelled.
  package private(set) var enclosing: [any CancellationSource] = []

  private var isShielded = false

  /// The Task that the innermost run works in, which Tasks made there inherit the rest of this from.
  private var task: Int?

  package init() {}

  /// What a token asked for.
  package var request: Cancellation? {
    for token in tokens {
      if let request = token.request { return request }
    }
    return nil
  }

  /// What is known of a cancellation of the Task itself.
  package var knownCause: Cancellation? { request ?? (isShielded ? nil : enclosing.first?.request) }

  package func inside(_ token: CancellationToken) -> CancellationScope {
    var scope = self
    scope.tokens.removeAll { $0 === token }
    scope.tokens.insert(token, at: 0)
    return scope
  }

  /// Runs that are over are left out, so that a chain which starts itself again and again makes no long list.
  package func inside(_ source: any CancellationSource) -> CancellationScope {
    var scope = self
    scope.enclosing.removeAll { $0.isOver }
    scope.enclosing.insert(source, at: 0)
    scope.isShielded = false
    return scope
  }

  /// Whether the current Task is the one that the innermost run works in.
  package var isInItsTask: Bool { task != nil && task == Self.currentTask }

  package func inThisTask() -> CancellationScope {
    var scope = self
    scope.task = Self.currentTask
    return scope
  }

  private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }

  /// Runs handlers, which nothing around them asks to stop, and which cancellation does not reach.
  ///
  /// - Parameters:
  ///   - isCancelled: Whether the Task is, or may be cancelled meanwhile. One that is not, and will not be, needs no shield.
  ///   - operation: Calls the handlers, off the caller's actor.
  /// - Returns: What the operation returns.
  package nonisolated(nonsending) static func undisturbed<Value: Sendable>(
    isCancelled: Bool = true,
    _ operation: @escaping @Sendable () async -> Value
  ) async -> Value {
    guard var scope = current else { return isCancelled ? await shielded(operation) : await operation() }
    let isRuns = scope.isInItsTask
    scope.tokens = []
    scope.isShielded = true
    return await $current.withValue(scope) { [scope] in
      guard isCancelled else { return await operation() }
      return await shielded {
        guard isRuns else { return await operation() }
        return await $current.withValue(scope.inThisTask(), operation: operation)
      }
    }
  }
}

/// Something that was, or was not, asked to stop.
package protocol CancellationSource: AnyObject, Sendable {
  var request: Cancellation? { get }

  /// Whether it has ended, handlers included.
  var isOver: Bool { get }
}
