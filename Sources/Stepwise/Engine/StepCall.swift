// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A call of `step`: the run that it belongs to, and what else has to know of it.
///
/// The call counts as in flight from `init` to `end`.
@usableFromInline
struct StepCall: Sendable {
  /// Nil outside of runs, and in undos and handlers.
  private let run: Execution?
  /// Nil where nothing but the run has to know of the call.
  private let links: Links?

  private final class Links: Sendable {
    let attempt: Attempt?
    /// The attempt that counts the call; nil when the run does.
    let counting: Attempt?
    /// Nil where nothing records the run.
    let recordedStep: RecordedStep?

    init(_ attempt: Attempt?, counting: Attempt?, _ recordedStep: RecordedStep?) {
      self.attempt = attempt
      self.counting = counting
      self.recordedStep = recordedStep
    }
  }

  private var attempt: Attempt? { links?.attempt }
  private var recordedStep: RecordedStep? { links?.recordedStep }

  /// - Throws: `CancellationError` when the run was cancelled, or is decided, or has abandoned the work;
  ///   ``ChainError/runHasEnded`` when it has ended.
  @usableFromInline
  init(_ name: String) throws {
    let scope = Scope.current
    guard let run = scope.innermostRun else {
      (run, links) = (nil, nil)
      return
    }
    guard scope.isOfRunAlone, !run.isJournaled else {
      self = try StepCall(name, in: scope, of: run)
      return
    }
    (self.run, links) = (run, nil)
    guard !run.isCancellationRequested, run.calls.begin() else { throw run.refusal(in: nil) }
  }

  @inline(never)
  private init(_ name: String, in scope: Scope, of run: Execution) throws {
    let attempt = scope.attempt
    guard run.journal != nil || !run.isCancellationRequested else {
      throw run.refusal(in: attempt)
    }
    var counting = attempt?.counting
    // An attempt that has been closed just now is counted by the one around it.
    while let closed = counting, !closed.calls.begin() { counting = attempt?.counting }
    if let attempt, attempt.isAbandoned {
      counting?.calls.end()
      throw CancellationError()
    }
    guard counting != nil || run.calls.begin() else { throw run.refusal(in: attempt) }
    self.run = run
    links = Links(attempt, counting: counting, scope.recordedStep?.begin(name))
  }

  /// Whether nothing but the run itself has to know of the call.
  @usableFromInline var isPlain: Bool { recordedStep == nil && run?.isJournaled != true }

  @usableFromInline
  func end() {
    if let links { return end(links, error: nil) }
    run?.calls.end()
  }

  @usableFromInline
  func end(throwing error: any Error, _ name: String) {
    if let run, attempt.map({ !$0.isAbandoned }) ?? true { run.failCall(name, error) }
    if let links { return end(links, error: error) }
    run?.calls.end()
  }

  @inline(never)
  private func end(_ links: Links, error: (any Error)?) {
    links.recordedStep?.end(error: error)
    if let counting = links.counting { return counting.calls.end() }
    run?.calls.end()
  }
}

extension StepCall {
  /// Performs the step, and stores how to undo it, if it can be undone.
  @usableFromInline
  func perform<Value>(
    _ name: String,
    _ options: RetryOptions?,
    if isRetryable: (any Error) async -> Bool,
    _ body: () async throws -> Value,
    isUndoable: Bool = false,
    undo: (Value) -> @Sendable () async throws -> Void = { _ in {} }
  ) async throws -> Value {
    let step = ChainStep(index: run?.stepIndex ?? 0, name: name)
    do {
      if isUndoable, run?.isProgression ?? true { throw ChainError.outsideRun }
      func makeUndo(_ value: Value, _ number: Int? = nil) -> UndoStack.Undo {
        let number = number ?? UndoStack.Undo.nextNumber
        return UndoStack.Undo(step: step, record: recordedStep?.id, number: number, perform: undo(value))
      }
      let journalStep = JournalStep(name: name, isUndoable: isUndoable)
      let end = try await perform(journalStep, options, if: isRetryable, undoUnstored: { makeUndo($0) }, body)
      if isUndoable, let run, end.number != nil || run.journal == nil {
        await run.adopt([makeUndo(end.value, end.number)], in: attempt)
      }
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
struct RetryOptions: Sendable {
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
    _ options: RetryOptions?,
    if isRetryable: (any Error) async -> Bool,
    undoUnstored: (Value) -> UndoStack.Undo,
    _ body: () async throws -> Value
  ) async throws -> JournalEnd<Value> {
    guard let run, let journal = run.journal ?? run.stepJournal else {
      return JournalEnd(value: try await perform(options, if: isRetryable, body), number: nil, isReplayed: false)
    }
    let end = try await journal.step(step, in: run.journalRun(attempt)) { value in
      await run.undoUnstored(undoUnstored(value))
    } _: { key in
      try await perform(options, AttemptHistory(key: key, journal: journal), if: isRetryable) {
        try await journal.inside(key, branch: nil, body)
      }
    }
    if end.isReplayed, let recordedStep { recordedStep.recording.replayed(recordedStep.id) }
    return end
  }

  /// Performs the attempts of a step; each that fails undoes the steps inside that it has completed.
  private func perform<Value>(
    _ options: RetryOptions?,
    _ history: AttemptHistory? = nil,
    if isRetryable: (any Error) async -> Bool,
    _ body: () async throws -> Value
  ) async throws -> Value {
    guard let options else { return try await perform(in: nil, body) }
    return try await makeAttempts(
      options.policy,
      options.clock,
      if: isRetryable,
      history: history,
      of: run,
      // That of a step that is repeated may be abandoned.
      in: Scope.current.isRepetition ? Scope.current.attempt : attempt,
      recording: run?.recording
    ) { number, error in
      recordedStep?.retrying(attempt: number, after: error)
    } body: { attempt in
      try await perform(in: attempt, body)
    }
  }

  private func perform<Value>(in attempt: Attempt?, _ body: () async throws -> Value) async throws -> Value {
    guard attempt != nil || recordedStep != nil else { return try await body() }
    let scope = Scope.current
    return try await Scope.$current.bind(scope.with(attempt, recordedStep: recordedStep ?? scope.recordedStep), body)
  }
}

// MARK: - Steps around steps

extension StepCall {
  /// The journal that stores the steps in the body one by one; nil where they are part of a step or of no stored run.
  private var journalBetweenSteps: (any RunJournal)? {
    guard let journal = run?.journal, !journal.isInStep else { return nil }
    return journal
  }

  /// Performs `steps`, of which a journal stores the steps inside alone.
  @usableFromInline
  func performSteps<Value>(
    _ name: String,
    _ options: RetryOptions?,
    if isRetryable: (any Error) async -> Bool,
    _ body: () async throws -> Value
  ) async throws -> Value {
    guard let journal = journalBetweenSteps else { return try await perform(name, options, if: isRetryable, body) }
    do {
      let key = journal.open(name)
      let history = options.map { _ in AttemptHistory(key: key, journal: journal) }
      let value = try await perform(options, history, if: isRetryable) {
        try await journal.inside(key, branch: nil, body)
      }
      end()
      return value
    } catch {
      end(throwing: error, name)
      throw error
    }
  }

  /// Performs the body in another task, which is cancelled when its time is up, and waits for it.
  ///
  /// Of `steps`, part of the time may have passed in earlier runs.
  func limited<Value: Sendable>(
    _ name: String,
    to duration: Duration?,
    _ clock: any Clock<Duration>,
    _ body: @escaping @Sendable @isolated(any) () async throws -> Value
  ) async throws -> Value {
    guard let duration else { return try await body() }
    return try await TimeLimit.begin(duration, clock, in: run?.journal, as: "timeout") { limit in
      try await Stepwise.limited(to: limit) {
        name
      } operation: {
        try await body()
      }
    }
  }
}
