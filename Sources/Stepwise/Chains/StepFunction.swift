// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Performs a named step.
///
/// Use `step` in code with state, branches or loops, to see each part in errors, events and traces, and to retry or
/// undo it:
///
/// ```swift
/// let sum = Chain("sum") { (text: String) in
///   let numbers = try await step("split") { text.split(separator: ",").compactMap { Int($0) } }
///   let doubled = try await step("double") { numbers.map { $0 * 2 }.filter { $0 > 1 } }
///   return try await step("sum") { doubled.reduce(0, +) }
/// }
/// ```
///
/// The body runs in the caller's task and isolation: you can change local variables and capture values that are not
/// Sendable.
///
/// In a run, and in the child tasks and tasks that a run creates, the call is a step of that run. It checks for
/// cancellation before the body, and `onError` and ``Run/failedStep`` name it. The run waits for it, even when your code
/// does not. Outside of a run, and in undos and handlers, the body runs without any of that.
///
/// A step with `retry` or `timeout` undoes the steps inside it that a failed attempt has completed. Without them, an
/// error that your code catches undoes nothing.
///
/// - Parameters:
///   - name: The name of the step in errors, events and traces.
///   - retry: The number of attempts and the delay between them; one attempt when nil.
///   - isRetryable: Returns whether to retry after an error; by default every error is retried. Cancellation is never
///     retried.
///   - clock: The clock that measures the delays.
///   - body: The work of the step.
/// - Returns: What the body returns, even if the run was cancelled while it ran.
/// - Throws: What the body throws in the last attempt; `CancellationError` before the body when the run is cancelled or
///   decided, or has abandoned the calling code; ``ChainError/runHasEnded`` when it has ended.
@discardableResult @inlinable
public func step<Value>(
  _ name: String,
  retry: RetryPolicy? = nil,
  if isRetryable: (any Error) async -> Bool = { _ in true },
  clock: any Clock<Duration> = ContinuousClock(),
  _ body: () async throws -> Value
) async throws -> Value {
  let call = try StepCall(name)
  guard retry == nil, call.isPlain else {
    return try await call.perform(name, RetryOptions(retry, clock), if: isRetryable, body)
  }
  do {
    let value = try await body()
    call.end()
    return value
  } catch {
    call.end(throwing: error, name)
    throw error
  }
}

/// Performs a named step that can be undone.
///
/// When something later fails or the run is cancelled, the run undoes its completed steps, newest first. The undos are
/// shielded from cancellation. An undo that throws is reported to `onError` as an ``UndoError``. A step inside a step
/// with `retry` or `timeout` is undone when that attempt fails.
///
/// `undo` receives the value. See ``step(_:retry:if:clock:_:)`` for the other parameters. Outside of a run, and in undos
/// and handlers, this throws ``ChainError/outsideRun`` before the body.
@discardableResult
public func step<Value: Sendable>(
  _ name: String,
  retry: RetryPolicy? = nil,
  if isRetryable: (any Error) async -> Bool = { _ in true },
  clock: any Clock<Duration> = ContinuousClock(),
  _ body: () async throws -> Value,
  undo: @escaping @Sendable (Value) async throws -> Void
) async throws -> Value {
  try await StepCall(name).perform(name, RetryOptions(retry, clock), if: isRetryable, body, isUndoable: true) { value in
    { try await undo(value) }
  }
}

/// Performs a named step whose undo does not need its value.
///
/// See ``step(_:retry:if:clock:_:undo:)-(_,_,_,_,_,(Value)->Void)``.
@discardableResult
public func step<Value: Sendable>(
  _ name: String,
  retry: RetryPolicy? = nil,
  if isRetryable: (any Error) async -> Bool = { _ in true },
  clock: any Clock<Duration> = ContinuousClock(),
  _ body: () async throws -> Value,
  undo: @escaping @Sendable () async throws -> Void
) async throws -> Value {
  try await StepCall(name).perform(name, RetryOptions(retry, clock), if: isRetryable, body, isUndoable: true) { _ in
    undo
  }
}

// MARK: - With a time limit

/// Performs a named step with a time limit.
///
/// The body runs in another task, which the step cancels and awaits when its time is up. So it obeys the rules of
/// `Task { }`: it runs on the actor that it is written on, and cannot change the caller's local variables.
///
/// - Parameters:
///   - name: The name of the step in errors, events and traces.
///   - retry: The number of attempts and the delay between them; one attempt when nil.
///   - isRetryable: Returns whether to retry after an error; by default every error is retried.
///   - timeout: The time limit of each attempt; none when nil.
///   - clock: The clock that measures the delays and the time limit.
///   - body: The work of the step.
/// - Returns: What the body returns, even after its time is up.
/// - Throws: What the body throws in the last attempt; ``TimeoutError`` when its time is up; `CancellationError` before
///   the body when the run is cancelled or decided, or has abandoned the calling code; ``ChainError/runHasEnded`` when it
///   has ended.
@discardableResult
public func step<Value: Sendable>(
  _ name: String,
  retry: RetryPolicy? = nil,
  if isRetryable: (any Error) async -> Bool = { _ in true },
  timeout: Duration?,
  clock: any Clock<Duration> = ContinuousClock(),
  @_inheritActorContext @_implicitSelfCapture
  _ body: @escaping @Sendable @isolated(any) () async throws -> Value
) async throws -> Value {
  let call = try StepCall(name)
  let options = RetryOptions(retry, clock, isLimited: timeout != nil)
  return try await call.perform(name, options, if: isRetryable) {
    try await call.limited(name, to: timeout, clock, body)
  }
}

/// Performs a named step with a time limit that can be undone.
///
/// See ``step(_:retry:if:timeout:clock:_:)`` for the body, and
/// ``step(_:retry:if:clock:_:undo:)-(_,_,_,_,_,(Value)->Void)`` for the undo.
@discardableResult
public func step<Value: Sendable>(
  _ name: String,
  retry: RetryPolicy? = nil,
  if isRetryable: (any Error) async -> Bool = { _ in true },
  timeout: Duration?,
  clock: any Clock<Duration> = ContinuousClock(),
  @_inheritActorContext @_implicitSelfCapture
  _ body: @escaping @Sendable @isolated(any) () async throws -> Value,
  undo: @escaping @Sendable (Value) async throws -> Void
) async throws -> Value {
  let call = try StepCall(name)
  let options = RetryOptions(retry, clock, isLimited: timeout != nil)
  let limited = { try await call.limited(name, to: timeout, clock, body) }
  return try await call.perform(name, options, if: isRetryable, limited, isUndoable: true) { value in
    { try await undo(value) }
  }
}

/// Performs a named step with a time limit whose undo does not need its value.
///
/// See ``step(_:retry:if:timeout:clock:_:undo:)-(_,_,_,_,_,_,(Value)->Void)``.
@discardableResult
public func step<Value: Sendable>(
  _ name: String,
  retry: RetryPolicy? = nil,
  if isRetryable: (any Error) async -> Bool = { _ in true },
  timeout: Duration?,
  clock: any Clock<Duration> = ContinuousClock(),
  @_inheritActorContext @_implicitSelfCapture
  _ body: @escaping @Sendable @isolated(any) () async throws -> Value,
  undo: @escaping @Sendable () async throws -> Void
) async throws -> Value {
  try await step(
    name,
    retry: retry,
    if: isRetryable,
    timeout: timeout,
    clock: clock,
    body,
    undo: { _ in try await undo() }
  )
}

// MARK: - Scopes of steps

/// Performs named steps together.
///
/// Use `steps` for work that consists of steps, such as "book" for a hotel and a flight, to name, retry or limit it as a
/// whole:
///
/// ```swift
/// let trip = try await steps("book") {
///   let hotel = try await step("hotel") {
///     try await reserve(city)
///   } undo: { hotel in
///     try await release(hotel)
///   }
///   let flight = try await step("flight") {
///     try await buy(city)
///   } undo: { flight in
///     try await refund(flight)
///   }
///   return Trip(hotel, flight)
/// }
/// ```
///
/// It behaves like ``step(_:retry:if:clock:_:)`` with steps inside it. In a durable run there is a difference: a `step` is
/// stored as a whole, with everything inside it, and `steps` is code between steps: its steps are stored one by one, and
/// its value is not. After a crash the body runs again, and its completed steps return their stored values.
///
/// The body runs in the caller's task and isolation. A failed attempt undoes the steps that it has completed.
///
/// - Parameters:
///   - name: The name in errors, events and traces.
///   - retry: The number of attempts and the delay between them; one attempt when nil.
///   - isRetryable: Returns whether to retry after an error; by default every error is retried. Cancellation is never
///     retried.
///   - clock: The clock that measures the delays.
///   - body: The steps.
/// - Returns: What the body returns.
/// - Throws: What the body throws in the last attempt; `CancellationError` before the body when the run is cancelled or
///   decided, or has abandoned the calling code; ``ChainError/runHasEnded`` when it has ended.
@discardableResult @inlinable
public func steps<Value>(
  _ name: String,
  retry: RetryPolicy? = nil,
  if isRetryable: (any Error) async -> Bool = { _ in true },
  clock: any Clock<Duration> = ContinuousClock(),
  _ body: () async throws -> Value
) async throws -> Value {
  try await StepCall(name).performSteps(name, RetryOptions(retry, clock), if: isRetryable, body)
}

/// Performs named steps together, with a time limit.
///
/// The body runs in another task, which is cancelled and awaited when its time is up. So it obeys the rules of `Task { }`:
/// it runs on the actor that it is written on, and cannot change the caller's local variables.
///
/// - Parameters:
///   - name: The name in errors, events and traces.
///   - retry: The number of attempts and the delay between them; one attempt when nil.
///   - isRetryable: Returns whether to retry after an error; by default every error is retried.
///   - timeout: The time limit of each attempt; none when nil.
///   - clock: The clock that measures the delays and the time limit.
///   - body: The steps.
/// - Returns: What the body returns, even after its time is up.
/// - Throws: What the body throws in the last attempt; ``TimeoutError`` when its time is up; `CancellationError` before
///   the body when the run is cancelled or decided, or has abandoned the calling code; ``ChainError/runHasEnded`` when it
///   has ended.
@discardableResult
public func steps<Value: Sendable>(
  _ name: String,
  retry: RetryPolicy? = nil,
  if isRetryable: (any Error) async -> Bool = { _ in true },
  timeout: Duration?,
  clock: any Clock<Duration> = ContinuousClock(),
  @_inheritActorContext @_implicitSelfCapture
  _ body: @escaping @Sendable @isolated(any) () async throws -> Value
) async throws -> Value {
  let call = try StepCall(name)
  let options = RetryOptions(retry, clock, isLimited: timeout != nil)
  return try await call.performSteps(name, options, if: isRetryable) {
    try await call.limited(name, to: timeout, clock, body)
  }
}
