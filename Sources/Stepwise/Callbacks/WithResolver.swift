// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Waits for a callback.
///
/// The body starts the work and hands the resolver to the callback. It runs in the caller's isolation, on this Task, and
/// may capture anything. When the Task is cancelled while it waits, the wait ends at once, after the resolver's `onCancel`
/// handlers have returned, even if the callback never comes. Until the body has returned, a cancel reaches it as Task
/// cancellation only.
///
/// - Parameters:
///   - isolation: The isolation of the body; the caller's.
///   - file: The file named in errors.
///   - line: The line named in errors.
///   - body: Starts the work.
/// - Returns: The value of the resolver's first call.
/// - Throws: The error of the first call; ``ResolverError/abandoned`` when the resolver was let go of without a call;
///   `CancellationError` when the Task was cancelled first; what the body throws.
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

/// Runs the body in a frame of its own, so that none that waits keeps the resolver alive.
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
