// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

struct JobInput<Value: Sendable>: Sendable {
  let launch: JobLaunch
  let value: Value
}

/// One launch of a job: its handlers, on the main actor, and its newest update, for subscribers.
///
/// It has no generic parameters: launching a job needs no type metadata lookup.
// Safety: it has constants, an atomic and a lock alone.
@usableFromInline final class JobLaunch: Execution, @unchecked Sendable {
  /// Everything is about the newest one, so one key is enough.
  typealias Updates = Broadcast<(any AnyBox)?, Bool>

  private struct CallState {
    var calls: JobCallsMachine<any AnyBox>
    /// Released on completion, like the limits: work that retains its context does not retain a screen.
    var handlers: JobHandlers
    /// The time limits of the work, innermost first.
    var limits: [TimeLimit] = []
    var newest: (any AnyBox)?
    /// Nil until there is a subscriber.
    var updates: Updates?
    var isOver = false
  }

  let name: String
  let owner: JobOwner?
  private let hasDeadline: Bool
  /// Whether one of the job's own timers has fired.
  private let isTimeUp = Atomic(false)
  private let callState: Lock<CallState>

  init(
    of chain: ChainCore,
    on queue: JobQueue,
    name: String,
    settings: JobSettings,
    priority: TaskPriority?,
    for recorder: RunRecorder
  ) {
    self.name = name
    owner = settings.owner
    hasDeadline = settings.deadline != nil
    let hasStart = !settings.handlers.onStart.isEmpty
    var state = CallState(calls: JobCallsMachine(hasStart: hasStart), handlers: settings.handlers)
    if let timeout = settings.timeout { state.limits.append(timeout) }
    if let deadline = settings.deadline { state.limits.append(deadline.started()) }
    callState = Lock(consume state)
    let priority = Int((priority ?? .medium).rawValue)
    let entrance = Entrance(gate: queue.gate, mode: .queue, policy: "job queue", priority: priority)
    super.init(of: chain, entrance: entrance, input: ValueSlot(), for: recorder)
  }

  /// Stores the input of a run that was created without one.
  func put(_ input: consuming ValueSlot) {
    var input: ValueSlot? = input
    state.withLock { $0.value = input.take() }
  }

  // MARK: - Work

  var limits: [TimeLimit] { callState.withLock { $0.limits } }

  /// Runs the work within its time limits, innermost first.
  @concurrent func limited<Output: Sendable>(
    _ work: @concurrent @escaping @Sendable () async throws -> Output
  ) async throws -> Output {
    var work = work
    for limit in limits {
      work = { [work] in try await Stepwise.limited(to: limit, step: self.timeIsUp, operation: work) }
    }
    return try await work()
  }

  override func waitForAdmission() async throws {
    guard hasDeadline, let deadline = limits.last else { return try await super.waitForAdmission() }
    try await Stepwise.limited(to: deadline, step: timeIsUp) {
      try await super.waitForAdmission()
      // It may have left the queue.
      guard self.isAdmitted else { throw CancellationError() }
    }
  }

  /// One of the job's own timers has fired; called for the name of the step, before the work is cancelled.
  @Sendable func timeIsUp() -> String {
    isTimeUp.store(true, ordering: .releasing)
    return name
  }

  // MARK: - Updates

  /// The newest update, for any number of subscribers.
  var updates: Updates { callState.withLock { $0.updates.stored(or: Updates($0.newest, isFinished: $0.isOver)) } }

  @usableFromInline func update(_ update: any AnyBox) {
    // The update before is released outside the locks.
    let (isFirst, updates, _) = callState.withLock { state -> (Bool, Updates?, (any AnyBox)?) in
      guard !state.calls.isClosed else { return (false, nil, nil) }
      let isFirst = !state.handlers.onUpdate.isEmpty && state.calls.enqueue(update)
      return (isFirst, state.updates, exchange(&state.newest, with: update))
    }
    if isFirst { callPending() }
    _ = updates?.update { publishNewest(in: &$0) }
  }

  /// Notifies the subscribers of the newest update, unless they know it already, and returns the one before.
  private func publishNewest(in content: inout Updates.Content) -> (any AnyBox)? {
    let newest = callState.withLock { $0.newest }
    guard content.state !== newest else { return nil }
    content.publish(true)
    return exchange(&content.state, with: newest)
  }

  // MARK: - Handlers

  /// Starts a task that makes the pending calls, if there are any.
  func callPending() {
    guard callState.withLock({ $0.calls.isBusy }) else { return }
    // The handlers are shielded from the cancellation of the work, and have no step to report to.
    let end = WorkElsewhere.start()
    _ = spawn { @MainActor () async throws -> Void in
      await outsideRuns { await self.makePendingCalls() }
      end?()
    }
  }

  private func silence() { _ = callState.withLock { $0.calls.silence() } }

  /// Silences the handlers, even too late to change the outcome.
  override func cancel(_ request: CancellationRequest) -> Bool {
    silence()
    return super.cancel(request)
  }

  override var hasOwnHandlers: Bool { true }

  override func callOwnHandlers(for outcome: Outcome<Void>, with output: borrowing ValueSlot) async {
    if case .cancelled = outcome { silence() }
    let isNeeded = callState.withLock { state in
      state.calls.close()
      // A handler that is in progress is awaited even when no call follows it.
      return state.calls.isBusy || (!state.calls.isSilent && state.handlers.include(outcome))
    }
    if isNeeded {
      await WorkElsewhere.whileBusy {
        await Scope.$current.withValue(.outside) { await callHandlers(for: outcome, with: output) }
      }
    }
    // Released outside the lock.
    let (updates, _, _) = callState.withLock { state in
      state.isOver = true
      return (state.updates, exchange(&state.handlers, with: JobHandlers()), exchange(&state.limits, with: []))
    }
    _ = updates?.update { content in
      defer { content.finish() }
      return publishNewest(in: &content)
    }
  }

  /// Makes the pending calls, and yields the main actor now and then when there are many.
  @MainActor private func makePendingCalls() async {
    let handlers = callState.withLock { $0.handlers }
    for count in 1... {
      guard let call = callState.withLock({ $0.calls.next() }) else { return }
      switch call {
      case .start: for handler in handlers.onStart where mayCall { handler() }
      case .update(let update): for handler in handlers.onUpdate where mayCall { handler(update) }
      }
      if count.isMultiple(of: 64) { await Task.yield() }
    }
  }

  @MainActor private func callHandlers(for outcome: Outcome<Void>, with output: borrowing ValueSlot) async {
    await makePendingCalls()
    let handlers = callState.withLock { $0.handlers }
    if case .failed(let error) = outcome, mayCall {
      if isTimeUp.load(ordering: .acquiring), !handlers.onTimeout.isEmpty {
        for handler in handlers.onTimeout where mayCall { handler() }
      } else {
        // On the main actor, where conformances isolated to it are found.
        JobErrorHandler.mostSpecific(of: handlers.onError, for: error)?(error)
      }
    }
    for handler in handlers.onFinish where mayCall { handler(outcome, output) }
  }

  /// Whether a handler may be called now; false once the owner is deallocated.
  @MainActor private var mayCall: Bool {
    if let owner, !owner.isAlive { silence() }
    return !callState.withLock { $0.calls.isSilent }
  }
}

// MARK: - Pending calls

/// The pending handler calls of a job before its completion: the launch and the updates.
///
/// Code on the main actor requests one call after the other. Several callers may take turns: the order stays the same,
/// because each call is made immediately.
struct JobCallsMachine<Update> {
  enum Call {
    case start
    case update(Update)
  }

  /// The state of the task that makes the calls.
  private enum Caller {
    case none
    /// The task is on its way to the main actor.
    case scheduled
    /// The task makes a call or requests the next one.
    case calling
  }

  /// Whether the work has ended: pending calls are made, and none is added.
  private(set) var isClosed = false
  /// Whether the job is cancelled, or its owner is deallocated: no further call is made.
  private(set) var isSilent = false
  private var caller: Caller
  /// Made before all updates.
  private var isStartPending: Bool
  private var updates: [Update] = []
  /// The updates that are called next, the next one last.
  private var nextUpdates: [Update] = []

  /// Creates a machine for whose first call, if one is pending, a task has to be started on the main actor.
  init(hasStart: Bool = false) { (isStartPending, caller) = hasStart ? (true, .scheduled) : (false, .none) }

  /// Whether a call is pending or in progress; the latter even after `silence()`.
  var isBusy: Bool {
    if case .calling = caller { true } else { isStartPending || !updates.isEmpty || !nextUpdates.isEmpty }
  }

  /// Returns whether a task has to be started on the main actor.
  mutating func enqueue(_ update: Update) -> Bool {
    guard !isClosed, !isSilent else { return false }
    if updates.isEmpty { updates.reserveCapacity(8) }
    updates.append(update)
    guard case .none = caller else { return false }
    caller = .scheduled
    return true
  }

  /// Returns the next call to make; the previous one has returned.
  mutating func next() -> Call? {
    if nextUpdates.isEmpty {
      updates.reverse()
      swap(&updates, &nextUpdates)
    }
    let call = exchange(&isStartPending, with: false) ? .start : nextUpdates.popLast().map(Call.update)
    caller = call == nil ? .none : .calling
    // A burst leaves no memory behind.
    if call == nil, updates.capacity + nextUpdates.capacity > 64 { (updates, nextUpdates) = ([], []) }
    return call
  }

  mutating func close() { isClosed = true }

  /// Returns the updates that are not delivered any more, to release them outside the lock.
  mutating func silence() -> [Update] {
    (isSilent, isStartPending) = (true, false)
    return exchange(&nextUpdates, with: []).reversed() + exchange(&updates, with: [])
  }
}
