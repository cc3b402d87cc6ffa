// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Waits for a callback.
///
/// The body starts the work and passes the resolver to the callback. It runs in the caller's isolation, on the current
/// task, and may capture anything. When the task is cancelled while it waits, the wait ends as soon as the resolver's
/// `onCancel` handlers have returned, even if the callback is never called. Until the body returns, it observes
/// cancellation only through its task.
///
/// - Parameters:
///   - isolation: The isolation of the body, by default the caller's.
///   - file: The file to name in errors.
///   - line: The line to name in errors.
///   - body: Starts the work.
/// - Returns: The value of the resolver's first call.
/// - Throws: The error of the first call; ``ResolverError/abandoned`` when the resolver was released without a call;
///   `CancellationError` when the task was cancelled first; the error of the body.
public func withResolver<Value: Sendable>(
  isolation: isolated (any Actor)? = #isolation,
  file: String = #fileID,
  line: UInt = #line,
  _ body: (Resolver<Value>) async throws -> Void
) async throws -> Value {
  let box = ResolverBox<Value>(file: file, line: line)
  await handOut(box, isolation: isolation, body)
  return try await box.value()
}

/// Runs the body in its own frame, so that no waiting frame retains the resolver.
private func handOut<Value: Sendable>(
  _ box: ResolverBox<Value>,
  isolation: isolated (any Actor)?,
  _ body: (Resolver<Value>) async throws -> Void
) async {
  let resolver = Resolver(box: box)
  do {
    try await body(resolver)
  } catch let error where Task.isCancelled {
    box.cancel(reason: CancellationScope.current?.cancellationCause?.reason, throwing: error)
  } catch {
    box.fail(error)
  }
}
