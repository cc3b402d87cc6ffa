// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What surrounds the running code: the run and the step that it belongs to, the tokens, and the observers.
///
/// It is the only task-local value that runs bind, so that reading it takes the same time at any depth: a second one
/// would be searched for behind all bindings of the first.
package struct Scope: Sendable {
  // Not an optional, which the runtime takes three times as long to copy.
  @TaskLocal package static var current = outside

  /// The scope of code outside of runs, tokens and observers.
  package static let outside = Scope(run: nil, record: nil, ownContext: nil, details: nil)

  /// The innermost run that the code belongs to.
  let run: Execution?
  /// The running step in the record of the run; nil where none is recorded.
  private let record: RecordID?
  /// The tokens and observers around the code; nil for those of the run.
  private let ownContext: Context?
  /// What the run and its step alone do not describe; nil for most code.
  private let details: Box<Details>?

  private struct Details: Sendable {
    var isShielded = false
    var isRepetition = false
    var attempt: Attempt?
    /// A step within a step, an element of one, or a step that the run may abandon.
    var recordedStep: RecordedStep?
  }

  /// Whether the code is outside of runs, tokens and observers.
  var isOutside: Bool { run == nil && ownContext == nil }

  /// Whether nothing but the run describes the code.
  var isOfRunAlone: Bool { details == nil && ownContext == nil && record == nil }

  /// Where the running step reports; nil outside of steps that are recorded.
  package var recordedStep: RecordedStep? {
    guard let record, let recording = run?.recording else { return details?.value.recordedStep }
    return RecordedStep(recording: recording, id: record)
  }

  var context: Context? { ownContext ?? run?.context }

  /// The attempt that stores the undos of steps here; nil for the run itself.
  var attempt: Attempt? { details?.value.attempt }

  /// Whether the code is a handler or an undo, which the cancellation of its run does not reach.
  var isShielded: Bool { details?.value.isShielded ?? false }

  /// Whether the code is the body of a step that is performed only to be undone, which nothing cancels.
  var isRepetition: Bool { details?.value.isRepetition ?? false }

  /// The innermost run whose steps the code may add to; nil in handlers and undos.
  var innermostRun: Execution? { isShielded ? nil : run }

  /// The journal of the innermost run, outside of its handlers and undos.
  package static var currentJournal: (any RunJournal)? { current.innermostRun?.journal }

  /// The innermost run around the code that has not completed.
  var runInFlight: Execution? {
    guard let run else { return nil }
    return run.isCompleted ? run.caller : run
  }

  /// The runs around the code that have not completed, innermost first.
  var runsInFlight: some Sequence<Execution> {
    sequence(state: runInFlight) { next in
      defer { next = next?.caller }
      return next
    }
  }

  /// Throws instead of waiting for a run that cannot complete before the current step or handler does.
  ///
  /// That is a run around it, and one that waits for a gate that runs around it occupy.
  static func checkReentrancy(of run: Execution) throws {
    let run = run.performing
    let isWaiting = run.entrance.map { current.isBlocking($0.gate) && run.isWaiting } ?? false
    if isWaiting || current.runsInFlight.contains(where: { $0 === run }) { throw ChainError.reentrant }
  }

  /// Whether the runs around the code occupy a gate, so that there is no room while the code waits.
  func isBlocking(_ gate: Gate) -> Bool {
    var free = gate.capacity
    for run in runsInFlight where run.occupies(gate) {
      free -= 1
      if free == 0 { return true }
    }
    return false
  }

  /// The known cause of a cancellation of the task.
  package var cancellationCause: Cancellation? {
    if let request = context?.request { return request }
    return isShielded ? nil : runInFlight?.request?.cancellation
  }

  /// Returns this scope for an attempt of its run, or the same one, and for one step there.
  func with(_ attempt: Attempt? = nil, recordedStep: RecordedStep?) -> Scope {
    var details = details?.value ?? Details()
    (details.attempt, details.recordedStep) = (attempt ?? details.attempt, recordedStep)
    return Scope(run: run, record: nil, ownContext: ownContext, details: Box(details))
  }

  /// Returns the current scope with a token around it.
  static func with(_ token: CancellationToken) -> Scope { surrounded { $0?.adding(token) ?? .token(token) } }

  /// Stops the run whose code between steps runs here when something else cancels a token, because the code would take a path
  /// that a further process does not find.
  ///
  /// - Returns: What to remove from the token; nil when there is nothing.
  static func stopsRun(by token: CancellationToken) -> CancellationToken.Key? {
    guard let journal = currentJournal, !journal.isInStep else { return nil }
    // Nothing but the token calls it, so that it exists then.
    return token.listenFirst { [unowned token] _ in
      if token.canceller != RunCode(of: journal) { journal.stop(.part) }
    }
  }

  /// Calls a closure that starts work which a token cancels, if there is one.
  static func withToken<Result>(_ token: CancellationToken?, _ start: () -> Result) -> Result {
    guard let token else { return start() }
    return $current.withValue(.with(token), operation: start)
  }

  /// The scope of a coalesced run: the observers here, without a run or a token.
  var ofCoalescedRuns: Scope {
    let context = (context?.observation).map { Context.empty.observed(by: $0) }
    return Scope(run: nil, record: nil, ownContext: context, details: nil)
  }

  static func observed(by observation: ObservationScope) -> Scope {
    surrounded { ($0 ?? .empty).observed(by: observation) }
  }

  private static func surrounded(by change: (Context?) -> Context) -> Scope {
    let old = current
    return Scope(run: old.run, record: old.record, ownContext: change(old.context), details: old.details)
  }

  /// Runs handlers shielded from cancellation and without a step to report to, off the caller's actor.
  ///
  /// No shield is needed when the task is not cancelled and cannot be any more.
  package static func withCancellationShield<Value: Sendable>(
    isCancelled: Bool = true,
    as kind: WorkOffExecutor = .handlers,
    _ operation: @concurrent @escaping @Sendable () async -> Value
  ) async -> Value {
    let (outer, details) = (current, Box(Details(isShielded: true)))
    let scope = Scope(run: outer.run, record: nil, ownContext: outer.context?.shielded, details: details)
    return await $current.withValue(scope) {
      let work: @concurrent @Sendable () async -> Value = {
        isCancelled ? await shielded(operation) : await operation()
      }
      guard let journal = outer.innermostRun?.journal else { return await work() }
      return await journal.offExecutor(as: kind, work)
    }
  }
}

extension Scope {
  /// Performs the body of a step, in a task of its own that no cancellation reaches, and waits for it.
  ///
  /// It runs in the caller's isolation.
  package static func repeating<Value>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    let outer = current
    var details = outer.details?.value ?? Details(recordedStep: outer.recordedStep)
    details.isRepetition = true
    // What the run has abandoned may be repeated, too.
    details.attempt = outer.run.map { Attempt(of: $0, in: nil, isAbandonable: true) }
    let scope = Scope(run: outer.run, record: nil, ownContext: outer.ownContext, details: Box(details))
    return try await withoutActuallyEscaping(body) { body in
      let work = Transfer(value: body)
      let task = spawn { () async -> Transfer<Result<Value, any Error>> in
        await run(work, in: scope, isolation: isolation)
      }
      return try await task.value.value.get()
    }
  }

  private static func run<Value>(
    _ work: Transfer<nonisolated(nonsending) () async throws -> Value>,
    in scope: Scope,
    isolation: isolated (any Actor)?
  ) async -> Transfer<Result<Value, any Error>> {
    Transfer(value: await Result.of { try await $current.bind(scope, work.value) })
  }

  // Safety: the task that sends the body waits for the one that runs it, and only one of them uses it at a time.
  private struct Transfer<Value>: @unchecked Sendable {
    let value: Value
  }

  /// Between the steps of a run, or in a recorded step.
  init(of run: Execution, record: RecordID? = nil) {
    self.init(run: run, record: record, ownContext: nil, details: nil)
  }
}

/// The tokens and observers around some code.
enum Context: Sendable {
  /// Most code has at most one token, which needs no memory of its own.
  case token(CancellationToken)
  /// The tokens of `withCancellation(by:)`, innermost first; cancelling one cancels the code. A shield keeps the
  /// shielded ones away; they still reach the runs that start behind it.
  indirect case all([CancellationToken], shielded: [CancellationToken], ObservationScope?)

  static let empty = Context.all([], shielded: [], nil)

  var tokens: [CancellationToken] {
    switch self {
    case .token(let token): [token]
    case .all(let tokens, _, _): tokens
    }
  }

  private var shieldedTokens: [CancellationToken] { if case .all(_, let tokens, _) = self { tokens } else { [] } }

  var observation: ObservationScope? { if case .all(_, _, let observation) = self { observation } else { nil } }

  func adding(_ token: CancellationToken) -> Context {
    let (outer, shielded) = (tokens.filter { $0 !== token }, shieldedTokens.filter { $0 !== token })
    return .all([token] + outer, shielded: shielded, observation)
  }

  func observed(by observation: ObservationScope) -> Context {
    .all(tokens, shielded: shieldedTokens, observation)
  }

  /// The cancellation that a token requested.
  var request: Cancellation? {
    switch self {
    case .token(let token): token.request
    case .all(let tokens, _, _): tokens.lazy.compactMap(\.request).first
    }
  }

  var shielded: Context { .all([], shielded: tokens + shieldedTokens, observation) }

  /// Those of a run that `start` starts here.
  ///
  /// The run outlives a shield, so tokens behind the shield reach it, unless they were cancelled before.
  var ofStartedRuns: Context {
    if shieldedTokens.isEmpty { return self }
    return .all(tokens + shieldedTokens.filter { !$0.isCancelled }, shielded: [], observation)
  }
}
