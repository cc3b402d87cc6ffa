// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

// Whether a run should stop, and why: its task, itself, its chain, a token around it, a sibling that has decided their
// step, or a run that contains it.
extension Execution {
  /// Whether the run should stop; checked before each step, and when a step has thrown.
  package var isCancellationRequested: Bool { Task.isCancelled || isCancellationRequestedElsewhere }

  /// Whether a source other than the task has cancelled this run or a run that contains it.
  ///
  /// While no cancellation has occurred in the process since the last check, the sources need not be checked again.
  private var isCancellationRequestedElsewhere: Bool {
    let count = CancellationCount.current
    guard lookedAt.load(ordering: .relaxed) != count else { return false }
    if isCancellationRequestedHere { return true }
    for outer in outers {
      if outer.lookedAt.load(ordering: .relaxed) == count { break }
      if outer.isCancellationRequestedHere { return true }
    }
    lookedAt.store(count, ordering: .relaxed)
    return false
  }

  private var isCancellationRequestedHere: Bool {
    if generation.isCancelled || registry.tokenIfTaken?.isCancelled ?? false { return true }
    if let started, started.isCancellationRequested { return true }
    if let child, child.fork.isLost(at: child.place) { return true }
    if let outerPart, outerPart.isAbandoned { return true }
    return surroundings.request != nil
  }

  /// The cancellation of the run; the earliest one as far as that is known.
  var request: Cancellation? {
    for execution in sequence(first: self, next: \.outer) {
      if let request = execution.requestToItself { return request }
    }
    guard Task.isCancelled || isCancellationRequestedElsewhere else { return nil }
    return surroundings.request ?? enclosing?.request ?? Cancellation()
  }

  private var requestToItself: Cancellation? {
    started?.request ?? registry.tokenIfTaken?.request ?? generation.request ?? surroundings.request
  }

  /// Through what the run was cancelled, in words, for traces.
  var cancellationSource: String {
    if let request = started?.request, let overlap = program?.overlap, overlap.mode != nil,
      request.reason == overlap.description
    {
      return "overlap policy"
    }
    if registry.tokenIfTaken?.isCancelled ?? false { return "the chain's token" }
    if generation.isCancelled { return "cancelRuns" }
    if surroundings.request != nil { return "a token around it" }
    if outers.contains(where: { $0.requestToItself != nil }) { return "the outer run" }
    if let child, child.fork.isLost(at: child.place) {
      return child.fork.nesting == .race ? "a faster branch" : "a failed branch"
    }
    return hasHandle && started?.request != nil ? "its handle" : "its task"
  }

  /// Waits in such a way that any cancellation of the run ends the wait.
  ///
  /// A run with its own task is interrupted anyway. A plain run checks for cancellation only before each step, so it
  /// waits in a separate task.
  nonisolated(nonsending) func wait<Value: Sendable>(_ wait: @escaping @Sendable () async -> Value) async -> Value {
    var tokens: [CancellationToken] = []
    for execution in sequence(first: self, next: \.outer) where execution.started == nil {
      tokens.append(execution.generation)
      if let token = execution.registry.tokenIfTaken { tokens.append(token) }
      tokens += execution.surroundings.tokens
    }
    guard !tokens.isEmpty else { return await wait() }
    let task = spawn(wait)
    let listeners = tokens.map { $0.listen(task) }
    defer { for (token, listener) in zip(tokens, listeners) { token.remove(listener) } }
    return await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
  }
}
