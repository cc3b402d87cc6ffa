// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs an operation and stops waiting for it when its time is up.
///
/// The operation is then cancelled and continues without being awaited. If it returns a value, `discarding` receives
/// it, shielded from that cancellation. Cancelling the calling task cancels the operation, which is still awaited until
/// its time is up; before that, `onCancel` is called. The operation receives a closure that returns whether it is still
/// awaited.
///
/// - Throws: The error of the operation; what `expiry` returns when its time was up first.
func abandoned<Value: Sendable>(
  after duration: Duration,
  clock: any Clock<Duration>,
  onCancel: @escaping @Sendable () -> Void = {},
  expiry: @escaping @Sendable (TimeoutError) -> any Error = { $0 },
  step name: @escaping @Sendable () -> String,
  discarding: nonisolated(nonsending) @escaping @Sendable (Value) async -> Void,
  operation: @escaping @Sendable (_ isAwaited: @escaping @Sendable () -> Bool) async throws -> Value
) async throws -> Value {
  let first = Once<Result<Value, any Error>>()
  let isAwaited: @Sendable () -> Bool = { first.settled == nil }
  let awaited = AwaitedTask.make()
  let step = StepContext.current?.reporting(while: isAwaited)
  let work = spawn {
    let result = await awaited.run {
      await StepContext.$current.withValue(step) { await Result.of { try await operation(isAwaited) } }
    }
    guard !first.settle(result), case .success(let late) = result else { return }
    await CancellationScope.withCancellationShield { await discarding(late) }
  }
  let timer = spawn {
    guard (try? await clock.sleep(for: duration.clamped)) != nil else { return }
    guard first.settle(.failure(expiry(TimeoutError(step: name(), duration: duration)))) else { return }
    awaited?.end()
    work.cancel()
  }
  defer { timer.cancel() }
  return try await withTaskCancellationHandler {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
      return await first.valueIgnoringCancellation()
    }
    return await withTaskPriorityEscalationHandler {
      // An escalation may have occurred before the handler was registered.
      work.escalatePriority(to: Task.currentPriority)
      return await first.valueIgnoringCancellation()
    } onPriorityEscalated: { _, priority in
      work.escalatePriority(to: priority)
    }
  } onCancel: {
    onCancel()
    work.cancel()
  }.get()
}
