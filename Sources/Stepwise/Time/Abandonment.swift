// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs an operation, and returns without it when its time is up.
///
/// The operation is cancelled then and goes on by itself to its end; a value that comes out of it is given to `discarding`,
/// which is shielded from that cancellation. When the calling Task is cancelled, the operation is too, and is waited for
/// until its time is up.
///
/// - Throws: what the operation throws, or `TimeoutError` when its time was up first.
func abandoned<Value: Sendable>(
  after duration: Duration,
  clock: any Clock<Duration>,
  step: @escaping @Sendable () -> String,
  discarding: nonisolated(nonsending) @escaping @Sendable (Value) async -> Void,
  operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  let first = Once<Result<Value, any Error>>()
  let work = spawn {
    let result = await Result.of(operation)
    guard !first.settle(result), case .success(let late) = result else { return }
    await CancellationScope.undisturbed { await discarding(late) }
  }
  let timer = spawn {
    guard (try? await clock.sleep(for: duration)) != nil else { return }
    if first.settle(.failure(TimeoutError(step: step(), duration: duration))) { work.cancel() }
  }
  defer { timer.cancel() }
  return try await withTaskCancellationHandler {
    await first.valueWhateverHappens()
  } onCancel: {
    work.cancel()
  }.get()
}
