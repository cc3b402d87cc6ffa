// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

// What happens on a cancellation during a retried step of a nested chain, in order. What a failed attempt completed is
// undone before the wait for the next one.
//
// 1. A handle, a token, `cancelRuns`, a policy, a branch with its decision, or a cancelled task that awaits a run calls
//    `cancel` on that run. The request is stored, once, with its source. The runs inside are marked, from the outermost to
//    the innermost; then the waits inside end, and the runs' tasks are cancelled, the innermost first. That interrupts the
//    step, or the wait between two attempts.
// 2. The step throws, or the wait ends with the error of the last attempt. `retry` makes no further attempt; what an
//    interrupted attempt completed is undone with the rest. No `recover` replaces the error (`Frame.recover`). If the step
//    returns a value instead, the next step does not begin; after the last step, the chain ends with the value.
// 3. The nested run ends, in `Frame.end`: it waits for its calls of `step` and decides its outcome (`decide`). Then,
//    shielded, it undoes its completed steps, newest first, calls `onError` with undos that failed, and its `finally`
//    handlers. It leaves its gate and what it is tied to, and what awaits it resumes (`ChainCore.complete`).
// 4. `ChainCore.check` passes the error of the step on to the outer run, if that is cancelled as well; otherwise it throws a
//    `CancellationError`. The outer run ends like the nested one, cancelled for the reason of the request; if only the
//    nested run was cancelled, it fails, and may recover.
extension Execution {
  /// What a cancellation of the run reaches.
  enum Target {
    /// A run that began in a step of this one, or that is a step of it.
    case run(Execution)
    /// A wait in a task of its own, and what cancels it.
    case wait(cancel: @Sendable () -> Void)
  }

  /// Where a run is registered in order to be cancelled.
  struct Ties {
    var registry: (registry: RunRegistry, key: RunRegistry.Key)?
    var outer: (run: Execution, key: OrderedSlots<Target>.Key)?
    var tokens: [(token: CancellationToken, key: CancellationToken.Key?)] = []

    func release() {
      if let (registry, key) = registry { registry.remove(key) }
      if let (run, key) = outer { run.removeTarget(key) }
      for (token, key) in tokens { token.remove(key) }
    }
  }

  // MARK: - Checks

  /// Whether the run should stop; checked before each step, and when a step has thrown.
  var isCancellationRequested: Bool { Task.isCancelled || hasRequest }

  /// Whether a further attempt makes sense: the run should not stop, or the work is performed to be undone.
  var allowsAttempts: Bool { !isCancellationRequested || Scope.current.isRepetition && !Task.isCancelled }

  /// Whether anything has cancelled the run.
  var hasRequest: Bool { requestFlag.load(ordering: .acquiring) }

  var request: CancellationRequest? { hasRequest ? state.withLock { $0.machine.request } : nil }

  /// Through what the run was cancelled, in words, for traces.
  var cancellationSource: String { (request ?? CancellationRequest(ownsJournal ? .journal : .task)).description }

  /// What a journal asks of the run, and of the attempt that a step belongs to.
  func journalRun(_ attempt: Attempt?) -> JournalRun {
    JournalRun(
      isCancellationRequested: { self.isCancellationRequested },
      isAbandoned: { attempt?.isAbandoned ?? false }
    )
  }

  // MARK: - Requests

  /// Returns whether this call has cancelled the run for good.
  func cancelForGood(reason: String?) -> Bool {
    journal?.cancel(reason: reason) ?? cancel(CancellationRequest(.handle, reason: reason))
  }

  /// Stores the request and interrupts the run and those inside; returns whether this call has cancelled the run.
  @discardableResult
  func interrupt(_ request: CancellationRequest) -> Bool {
    let (isFirst, targets) = mark(request, isInterrupting: true)
    guard var pending = targets else { return isFirst }
    let inner = CancellationRequest(.outerRun, reason: self.request?.reason)
    var runs = [self]
    var waits: [@Sendable () -> Void] = []
    while let next = pending.popLast() {
      switch next {
      case .wait(let cancel): waits.append(cancel)
      case .run(let run):
        if run.ownsJournal { run.journal?.stop(.run) }
        guard let further = run.mark(inner, isInterrupting: true).targets else { continue }
        runs.append(run)
        pending += further
      }
    }
    // The innermost first, and in a loop: the runtime cancels what awaits a cancelled task by recursion, unless it has been
    // cancelled before.
    for cancel in waits { cancel() }
    for run in runs.reversed() { run.state.withLock { $0.task.take() }?.cancel() }
    return isFirst
  }

  /// Stores the request, unless there is one; returns the targets when the task is now to be cancelled.
  @discardableResult
  private func mark(_ request: CancellationRequest, isInterrupting: Bool) -> (isFirst: Bool, targets: [Target]?) {
    let (isFirst, targets, gateID): (Bool, [Target]?, GateID?) = state.withLock { state in
      guard state.machine.isUndecided else { return (false, nil, nil) }
      let isFirst = state.machine.requestCancellation(request)
      if isFirst { requestFlag.store(true, ordering: .releasing) }
      guard isInterrupting, !state.isInterrupted else { return (isFirst, nil, state.gateID) }
      state.isInterrupted = true
      return (isFirst, state.targets.elements, state.gateID)
    }
    // It leaves the queue now, not when its task has noticed.
    if isFirst, let gateID { entrance?.gate.withdraw(CollectionOfOne(gateID)) }
    return (isFirst, targets)
  }

  // MARK: - Sources

  /// Registers the run with what can cancel it, and cancels it if that has happened.
  func tie(to registry: RunRegistry, of chain: ObjectIdentifier) {
    let scope = Scope.current
    var ties = Ties()
    ties.registry = (registry, registry.add(self, of: chain))
    // A run that contains this one as a step passes the cancellations of tokens on.
    if branch == nil, let tokens = context?.tokens {
      ties.tokens = tokens.map { token in
        // Nothing but the token calls it, so that it exists then.
        let listen = { @Sendable [unowned token] reason in
          _ = self.cancel(CancellationRequest(.tokenAround, reason: reason, by: token.canceller))
        }
        return (token, token.listenFirst(listen))
      }
    }
    if !hasHandle {
      let isShielded = scope.isShielded || scope.isRepetition
      if let outer = container ?? (isShielded ? nil : scope.runInFlight) { ties.outer = outer.addTarget(self) }
      if Task.isCancelled { cancel(CancellationRequest(.task, reason: scope.cancellationCause?.reason)) }
    }
    if let branch, let request = branch.fork.begin(self, at: branch.index) { cancel(request) }
    if origin?.attempt?.isAbandoned ?? false { cancel(CancellationRequest(.abandonment)) }
    state.withLock { $0.ties = ties }
  }

  /// Adds a run that a cancellation of this one reaches; returns nil when it has reached it, or when none will.
  private func addTarget(_ run: Execution) -> (Execution, OrderedSlots<Target>.Key)? {
    let (key, request) = state.withLock { state -> (OrderedSlots<Target>.Key?, CancellationRequest?) in
      guard state.machine.isUndecided else { return (nil, nil) }
      return (state.isInterrupted ? nil : state.targets.append(.run(run)), state.machine.request)
    }
    if let request {
      let inner = CancellationRequest(.outerRun, reason: request.reason)
      if key == nil { run.cancel(inner) } else { run.mark(inner, isInterrupting: false) }
    }
    return key.map { (self, $0) }
  }

  private func removeTarget(_ key: OrderedSlots<Target>.Key) { _ = state.withLock { $0.targets.remove(key) } }

  /// Waits, in a separate task, in such a way that any cancellation of the run ends the wait.
  ///
  /// Any code may call `step` in another task than the run's, which the cancellation of the run's task does not reach.
  func wait<Value: Sendable>(_ wait: @concurrent @escaping @Sendable () async -> Value) async -> Value {
    let task = spawn(wait)
    let key = state.withLock { state in
      state.isInterrupted ? nil : state.targets.append(.wait(cancel: { task.cancel() }))
    }
    if hasRequest { task.cancel() }
    defer { if let key { removeTarget(key) } }
    return await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
  }

  // MARK: - The task

  /// Sets the run's task, and cancels it if the run was cancelled before.
  func attach(_ task: Task<Void, any Error>) {
    let isLate = state.withLock { state in
      guard state.machine.isUndecided else { return false }
      if !state.isInterrupted { state.task = task }
      return state.isInterrupted
    }
    if isLate { task.cancel() }
  }

  /// Returns the run when its task has ended; the cancellation of the waiting task cancels the run.
  func awaited(_ task: Task<Void, any Error>) async -> Execution {
    let scope = Scope.current
    await withTaskCancellationHandler {
      await waitForEnd(of: task)
    } onCancel: {
      cancel(CancellationRequest(.task, reason: scope.cancellationCause?.reason))
    }
    return self
  }

  /// Waits for the end of the run's task, which has at least the priority of the waiting one.
  private func waitForEnd(of task: Task<Void, any Error>) async {
    // The runtime raises the priority of what a task awaits by recursion, for which thousands of runs are too many.
    guard depth % 256 == 255 else { return _ = await task.result }
    await raisingPriority(of: task) { await completion.valueIgnoringCancellation() }
  }
}

extension Attempt {
  /// The run stops waiting for the work here, and cancels the runs that began in it.
  func abandon() {
    calls.abandon()
    for case .run(let run) in run.state.withLock({ $0.targets.elements })
    where run.origin?.attempt?.isAbandoned ?? false {
      run.cancel(CancellationRequest(.abandonment))
    }
  }
}
