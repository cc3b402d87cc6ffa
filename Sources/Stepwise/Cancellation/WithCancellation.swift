// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs a body that is cancelled when a token is, besides when the calling Task is.
///
/// The body runs in the caller's isolation, in a Task of its own, for which the caller waits; it need not be, nor capture,
/// anything Sendable. Chains inside know the token: a run in the body or in its child tasks is interrupted at once, in an
/// unstructured Task made there it stops at its next step, and what `start` began there is cancelled at once, also
/// after the body has ended. With a token that is cancelled already the body still runs, in a cancelled Task.
///
/// - Parameters:
///   - token: The token that cancels the body.
///   - isolation: The isolation of the body; the caller's.
///   - body: What to run.
/// - Returns: What the body returns, whether it was cancelled or not.
/// - Throws: What the body throws, and nothing else: that the token was cancelled is not an error by itself.
public func withCancellation<Value: Sendable>(
  by token: CancellationToken,
  isolation: isolated (any Actor)? = #isolation,
  _ body: @escaping () async throws -> Value
) async throws -> Value {
  let scope = (CancellationScope.current ?? CancellationScope()).inside(token)
  let isCancelled = Task.isCancelled
  let awaited = AwaitedTask.make()
  let task = spawn { () async -> Result<Value, any Error> in
    _ = isolation
    // The Task may begin before it can be cancelled from outside.
    if isCancelled || token.isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
    defer { awaited?.end() }
    let inner = awaited == nil ? scope : scope.inThisTask(awaited)
    return await CancellationScope.$current.withValue(inner) {
      do { return .success(try await body()) } catch { return .failure(error) }
    }
  }
  let registration = token.onCancel { _ in task.cancel() }
  defer { registration.remove() }
  return try await withTaskCancellationHandler {
    await task.value
  } onCancel: {
    task.cancel()
  }.get()
}

/// Gives a body a token that is cancelled when the calling Task is.
///
/// The token is for code that asks a token, not the Task, whether it should stop. It has the reason of the cancellation
/// where one is known. It stays alive, and is never cancelled, after a body that was not cancelled.
///
/// - Parameters:
///   - isolation: The isolation of the body; the caller's.
///   - body: What to run, on this Task.
/// - Returns: What the body returns, whether it was cancelled or not.
/// - Throws: What the body throws, and nothing else.
public func withCancellationToken<Value>(
  isolation: isolated (any Actor)? = #isolation,
  _ body: (CancellationToken) async throws -> Value
) async rethrows -> Value {
  let token = CancellationToken()
  let scope = CancellationScope.current
  return try await withTaskCancellationHandler {
    try await body(token)
  } onCancel: {
    token.cancel(reason: scope?.cancellationCause?.reason)
  }
}
