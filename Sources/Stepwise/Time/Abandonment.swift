// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs an operation, and returns without it when its time is up.
///
/// The operation is cancelled then and goes on by itself to its end; a value that comes out of it is given to `discarding`,
/// which is shielded from that cancellation. When the calling Task is cancelled, the operation is too, and is waited for
/// until its time is up. It is told whether it still is waited for.
///
/// - Throws: what the operation throws, or `TimeoutError` when its time was up first.
func abandoned<Value: Sendable>(
  after duration: Duration,
  clock: any Clock<Duration>,
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
    guard first.settle(.failure(TimeoutError(step: name(), duration: duration))) else { return }
    awaited?.end()
    work.cancel()
  }
  defer { timer.cancel() }
  return try await withTaskCancellationHandler {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
      return await first.valueIgnoringCancellation()
    }
    return await withTaskPriorityEscalationHandler {
      // An escalation that came before the handler was there.
      work.escalatePriority(to: Task.currentPriority)
      return await first.valueIgnoringCancellation()
    } onPriorityEscalated: { _, priority in
      work.escalatePriority(to: priority)
    }
  } onCancel: {
    work.cancel()
  }.get()
}
