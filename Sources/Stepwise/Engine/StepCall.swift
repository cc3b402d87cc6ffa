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

/// How often a step is tried.
@usableFromInline
struct StepAttempts: Sendable {
  let policy: RetryPolicy
  let clock: any Clock<Duration>

  /// Nil for a step with neither a policy nor a time limit; one with a limit alone has one attempt.
  @usableFromInline
  init?(_ policy: RetryPolicy?, _ clock: any Clock<Duration>, isLimited: Bool = false) {
    guard policy != nil || isLimited else { return nil }
    self.policy = policy ?? RetryPolicy(maxAttempts: 1, backoff: .none)
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
        let value = try await perform(in: attempt, body)
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
    return try await Scope.$current.bind(scope.inside(attempt, step: record ?? scope.step), body)
  }
}

extension StepCall {
  /// Performs the body in another task, which is cancelled when its time is up, and waits for it.
  func limited<Value: Sendable>(
    _ name: String,
    to duration: Duration?,
    _ clock: any Clock<Duration>,
    _ body: @escaping @Sendable @isolated(any) () async throws -> Value
  ) async throws -> Value {
    guard let duration else { return try await body() }
    let limit = TimeLimit(duration: duration, clock: clock)
    return try await Stepwise.limited(to: limit, replaying: execution?.journal != nil) {
      name
    } operation: {
      try await body()
    }
  }
}
