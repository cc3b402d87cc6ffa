// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A call of `step`: the run and the part of it that the call belongs to.
///
/// It is in flight there from `init` until `end`.
@usableFromInline
struct StepCall: Sendable {
  /// Nil outside of runs, and in undos and handlers.
  private let execution: Execution?
  /// Nil where nothing records the run and no part of it stores undos.
  private let place: Place?

  private final class Place: Sendable {
    let part: StepPart?
    /// The part that counts the call; nil when the run does.
    let counting: StepPart?
    /// Nil where nothing records the run.
    let record: RecordedStep?

    init(_ part: StepPart?, counting: StepPart?, _ record: RecordedStep?) {
      self.part = part
      self.counting = counting
      self.record = record
    }
  }

  private var part: StepPart? { place?.part }
  private var record: RecordedStep? { place?.record }

  /// - Throws: `CancellationError` when the run was cancelled, or is decided, or has abandoned the work.
  @usableFromInline
  init(_ name: String) throws {
    let scope = Scope.current
    guard let execution = scope.innermostRun else {
      (execution, place) = (nil, nil)
      return
    }
    guard scope.isPlain, execution.journal == nil else {
      self = try StepCall(name, in: scope, of: execution)
      return
    }
    (self.execution, place) = (execution, nil)
    guard !execution.isCancellationRequested, execution.calls.begin() else { throw CancellationError() }
    execution.enterCall()
  }

  @inline(never)
  private init(_ name: String, in scope: Scope, of execution: Execution) throws {
    let part = scope.steps
    guard execution.journal != nil || !execution.isCancellationRequested else { throw CancellationError() }
    var counting = part?.counting
    // A part that has been closed just now is counted by the one around it.
    while let closed = counting, !closed.calls.begin() { counting = part?.counting }
    if let part, part.isAbandoned {
      counting?.calls.end()
      throw CancellationError()
    }
    guard counting != nil || execution.calls.begin() else { throw CancellationError() }
    execution.enterCall()
    self.execution = execution
    place = Place(part, counting: counting, scope.step?.begin(name))
  }

  /// Whether nothing but the run itself has to know of the call.
  @usableFromInline var isPlain: Bool { record == nil && execution?.journal == nil }

  @usableFromInline
  func end() {
    if let place { return end(in: place, error: nil) }
    execution?.calls.end()
  }

  @usableFromInline
  func end(throwing error: any Error, _ name: String) {
    if let execution, part.map({ !$0.isAbandoned }) ?? true { execution.failCall(name) }
    if let place { return end(in: place, error: error) }
    execution?.calls.end()
  }

  @inline(never)
  private func end(in place: Place, error: (any Error)?) {
    place.record?.finish(error: error)
    if let counting = place.counting { return counting.calls.end() }
    execution?.calls.end()
  }

  /// Whether further attempts make no sense.
  private var isCancelled: Bool {
    if execution?.isInterrupted ?? Task.isCancelled { return true }
    return part?.isAbandoned ?? false
  }
}

extension StepCall {
  /// Performs the step, and stores how to undo it, if it can be undone.
  @usableFromInline
  func perform<Value>(
    _ name: String,
    _ attempts: StepAttempts?,
    if isRetryable: (any Error) async -> Bool,
    _ body: () async throws -> Value,
    isUndoable: Bool = false,
    undo: (Value) -> @Sendable () async throws -> Void = { _ in {} }
  ) async throws -> Value {
    let plannedStep = ChainStep(index: execution?.lastIndex ?? 0, name: name)
    do {
      if isUndoable, execution == nil { throw ChainError.outsideRun }
      let step = JournalStep(name: name, isUndoable: isUndoable, isPlanned: false)
      let end = try await perform(step, attempts, if: isRetryable, body)
      if isUndoable, let execution, end.number != nil || execution.journal == nil {
        let undo = undo(end.value)
        let number = end.number ?? UndoStack.Entry.nextNumber
        let entry = UndoStack.Entry(step: plannedStep, entry: record?.number ?? -1, number: number, undo: undo)
        if end.error == nil {
          await execution.adopt([entry], in: part)
        } else {
          await execution.undoShielded([entry], recording: execution.recording)
        }
      }
      if let error = end.error { throw error }
      self.end()
      return end.value
    } catch {
      end(throwing: error, name)
      throw error
    }
  }
}

// MARK: - Attempts

/// How often, and how long, a step is tried.
@usableFromInline
struct StepAttempts: Sendable {
  let policy: RetryPolicy
  let limit: Duration?
  let clock: any Clock<Duration>

  /// Nil for a step with neither.
  @usableFromInline
  init?(_ policy: RetryPolicy?, _ limit: Duration?, _ clock: any Clock<Duration>) {
    guard policy != nil || limit != nil else { return nil }
    self.policy = policy ?? RetryPolicy(maxAttempts: 1, backoff: .none)
    self.limit = limit
    self.clock = clock
  }
}

extension StepCall {
  /// Performs a step, or returns what the journal of the run has stored of it.
  private func perform<Value>(
    _ step: JournalStep,
    _ options: StepAttempts?,
    if isRetryable: (any Error) async -> Bool,
    _ body: () async throws -> Value
  ) async throws -> JournalEnd<Value> {
    guard let execution, let journal = execution.journal else {
      let value = try await perform(step.name, options, at: nil, if: isRetryable, body)
      return JournalEnd(value: value, number: nil, isReplayed: false)
    }
    let end = try await journal.step(step, in: execution.journalRun) { place in
      try await perform(step.name, options, at: place, if: isRetryable) {
        try await journal.inside(place, branch: nil) { try await body() }
      }
    }
    if end.isReplayed, let record { record.recording.replayed(record.number) }
    return end
  }

  /// Performs the attempts of a step; each that fails undoes the steps inside that it has completed.
  private func perform<Value>(
    _ name: String,
    _ options: StepAttempts?,
    at place: JournalPlace?,
    if isRetryable: (any Error) async -> Bool,
    _ body: () async throws -> Value
  ) async throws -> Value {
    guard let options else { return try await perform(in: nil, body) }
    let history = place.flatMap { place in execution?.journal.map { AttemptHistory(place: place, journal: $0) } }
    var attempts =
      history?.attempts(options.policy, clock: options.clock) ?? Attempts(options.policy, clock: options.clock)
    while true {
      let attempt = execution.map { StepPart(of: $0, in: part) }
      do {
        let value = try await perform(in: attempt) { try await limited(name, options, body) }
        await attempt?.end()
        return value
      } catch {
        let isStored = history?.continues
        guard isStored ?? !isCancelled else {
          await attempt?.end()
          throw error
        }
        if let attempt {
          if let history { history.journal.attemptFailed(history.place, error) }
          await attempt.execution.undoShielded(
            attempt.undos.takeAll(closing: true),
            recording: attempt.execution.recording
          )
        }
        if isStored != nil {
          attempts.replayNext()
          continue
        }
        guard await attempts.allowAnother(after: error, if: isRetryable), !isCancelled else { throw error }
        record?.retrying(attempt: attempts.number + 1, after: error)
        guard await attempts.waitForNext(in: execution), !isCancelled else { throw error }
      }
    }
  }

  private func perform<Value>(in attempt: StepPart?, _ body: () async throws -> Value) async throws -> Value {
    guard attempt != nil || record != nil else { return try await body() }
    let scope = Scope.current
    return try await Scope.$current.withValue(scope.inside(attempt, step: record ?? scope.step), operation: body)
  }

  private func limited<Value>(
    _ name: String,
    _ options: StepAttempts,
    _ body: () async throws -> Value
  ) async throws -> Value {
    guard let duration = options.limit else { return try await body() }
    return try await lending(body) { loan in
      let limit = TimeLimit(duration: duration, clock: options.clock)
      return try await Stepwise.limited(to: limit, replaying: execution?.journal != nil) {
        name
      } operation: {
        try await loan.run()
      }
    }
  }
}

/// Runs a body that does not escape where no cancellation reaches it.
package func withCancellationShield<Value>(
  _ body: () async throws -> Value
) async throws -> Value {
  try await lending(body) { loan in try await shielded { await Result.of { try await loan.run() } }.get() }
}

/// Lends a body that does not escape to work in another task, which is awaited; returns what the body has returned.
private func lending<Value>(
  _ body: () async throws -> Value,
  to work: (LentBody<Value>) async throws -> Void
) async throws -> Value {
  let isolation = await callerIsolation()
  func lend(_ body: @escaping () async throws -> Value) async throws -> Value {
    let loan = LentBody(body, on: isolation)
    defer { loan.giveBack() }
    try await work(loan)
    return try loan.takeValue()
  }
  return try await withoutActuallyEscaping(body, do: lend)
}

/// Returns the actor that the caller is isolated to.
///
/// In the caller itself, `#isolation` makes the optimizer of Swift 6.3 crash.
@inline(never)
private func callerIsolation() async -> (any Actor)? { #isolation }

/// The body of a step, lent to a task that the step awaits.
// Safety: the task is awaited before the step continues, so that only one of them uses the body, its captures and its
// value at any time; the task runs them on the actor that the step is isolated to.
private final class LentBody<Value>: @unchecked Sendable {
  private var body: (() async throws -> Value)?
  private var value: Value?
  private let isolation: (any Actor)?

  init(_ body: @escaping () async throws -> Value, on isolation: (any Actor)?) {
    self.body = body
    self.isolation = isolation
  }

  @concurrent func run() async throws { try await run(on: isolation) }

  private func run(on isolation: isolated (any Actor)?) async throws {
    value = try await body.take()?()
  }

  /// Releases a body that has not run.
  func giveBack() { body = nil }

  /// - Throws: `CancellationError` when the body has not run.
  func takeValue() throws -> Value {
    guard let value = value.take() else { throw CancellationError() }
    return value
  }
}
