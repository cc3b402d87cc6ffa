// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How work ended that is not awaited longer than its time.
enum AbandonedEnd<Value: Sendable>: Sendable {
  case inTime(Result<Value, any Error>)
  case expired(TimeoutError)

  func get() throws -> Value {
    switch self {
    case .inTime(let result): try result.get()
    case .expired(let error): throw error
    }
  }
}

/// Runs an operation and stops waiting for it when its time is up.
///
/// The operation is then cancelled and continues without being awaited. If it returns a value, `discarding` receives
/// it, shielded from that cancellation. Cancelling the calling task cancels the operation, which is still awaited until
/// its time is up. The operation receives a closure that returns whether it is still awaited. The stack stores the undos
/// of the operation's calls of `step`; without one they are passed on to the run.
func abandoned<Value: Sendable>(
  after limit: TimeLimit,
  undos: UndoStack? = nil,
  step name: @escaping @Sendable () -> String,
  discarding: nonisolated(nonsending) @escaping @Sendable (Value) async -> Void,
  operation: @escaping @Sendable (_ isAwaited: @escaping @Sendable () -> Bool) async throws -> Value
) async -> AbandonedEnd<Value> {
  let first = Once<AbandonedEnd<Value>>()
  let isAwaited: @Sendable () -> Bool = { first.settled == nil }
  let scope = Scope.current
  let part = scope?.innermostRun.map { StepPart(of: $0, in: scope?.steps, undos: undos, isAbandonable: true) }
  let step = scope?.step?.reporting(while: isAwaited)
  // Handlers and code outside of runs have no step to report to.
  let inner = part.flatMap { scope?.inside($0, step: step) } ?? scope
  let work = spawn {
    let result = await Scope.$current.withValue(inner) { await Result.of { try await operation(isAwaited) } }
    await part?.calls.close(hasValue: true)
    guard !first.settle(.inTime(result)), case .success(let late) = result else { return }
    await Scope.withCancellationShield { await discarding(late) }
  }
  let timer = spawn {
    guard (try? await limit.sleep()) != nil else { return }
    guard first.settle(.expired(TimeoutError(step: name(), duration: limit.duration))) else { return }
    part?.abandon()
    work.cancel()
  }
  defer { timer.cancel() }
  let end = await withTaskCancellationHandler {
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
    work.cancel()
  }
  if undos == nil { await part?.end() }
  return end
}
