// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs a body that is cancelled when the token or the calling task is cancelled.
///
/// The body runs in another task, which the caller awaits, so it obeys the rules of `Task { }`: it runs on the actor that
/// it is written on, and cannot change the caller's local variables. Cancelling the token interrupts the body, its child
/// tasks, and the running step of each run and job that began in the body, also in a task that the body created and
/// after the body has returned; such a task itself is not cancelled. If the token is already cancelled, the body still
/// runs, in a cancelled task. For a single run, use `start(_:cancelledBy:completion:)` or `launch(_:cancelledBy:)`.
///
/// - Parameters:
///   - token: The token that cancels the body.
///   - body: The work to run.
/// - Returns: What the body returns, whether or not it was cancelled.
/// - Throws: Only what the body throws; cancellation of the token alone is not an error.
public func withCancellation<Value: Sendable>(
  by token: CancellationToken,
  @_inheritActorContext @_implicitSelfCapture
  _ body: @escaping @Sendable @isolated(any) () async throws -> Value
) async throws -> Value {
  let isCancelled = Task.isCancelled
  let key = Scope.stopsRun(by: token)
  defer { if let key { token.remove(key) } }
  let task = spawn { () async throws -> Value in
    // The task may start before the handlers below can cancel it.
    if isCancelled || token.isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
    return try await Scope.$current.withValue(.with(token)) { try await body() }
  }
  return try await task.value(cancelledBy: token)
}

/// Runs a body with a token that is cancelled when the calling task is cancelled.
///
/// Use the token for code that checks a token instead of the task. Its reason is that of the task's cancellation where
/// one is known. After a body that was not cancelled, the token stays valid and uncancelled.
///
/// ```swift
/// let sum = try await withCancellationToken { token in
///   try importRows([1, 2, 3], token)
/// }
/// ```
///
/// - Parameters:
///   - isolation: The isolation of the body, by default the caller's.
///   - body: The work to run, on the current task.
/// - Returns: What the body returns, whether or not it was cancelled.
/// - Throws: Only what the body throws.
public func withCancellationToken<Value>(
  isolation: isolated (any Actor)? = #isolation,
  _ body: (CancellationToken) async throws -> Value
) async rethrows -> Value {
  let token = CancellationToken()
  let scope = Scope.current
  return try await withTaskCancellationHandler {
    _ = isolation
    return try await body(token)
  } onCancel: {
    token.cancel(reason: scope.cancellationCause?.reason)
  }
}

/// Notifies an observer of every run that the body starts, also in tasks that it creates and after it has returned.
///
/// Use it to log or measure one part of your program.
///
/// - Parameters:
///   - observer: Receives the events of each run.
///   - isolation: The isolation of the body, by default the caller's.
///   - body: The work to run, on the current task.
/// - Returns: What the body returns.
/// - Throws: Only what the body throws.
public func withRunObserver<Value>(
  _ observer: some RunObserver,
  isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws -> Value
) async rethrows -> Value {
  RunObservers.use()
  var scope = Scope.current.context?.observation ?? ObservationScope()
  scope.observers.append(observer)
  return try await Scope.$current.bind(.observed(by: scope), body)
}
