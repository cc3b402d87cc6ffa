// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

// Whether a run should stop, and why: its task, itself, its chain, a token around it, or a run that contains it.
extension RunContext {
  /// Whether the run should stop; checked before each step, and when a step has thrown.
  var isCancellationRequested: Bool { Task.isCancelled || isCancellationRequestedElsewhere }

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
    if chain.isRequested { return true }
    if let run, run.isCancellationRequested { return true }
    return scope?.request != nil
  }

  /// The cancellation of the run; the earliest one as far as that is known.
  var request: Cancellation? {
    requestFromElsewhere ?? (Task.isCancelled ? scope?.cancellationCause ?? Cancellation() : nil)
  }

  /// Through what the run was cancelled, in words, for traces.
  var cancellationSource: String {
    if let request = run?.request, program.overlap.mode != nil, request.reason == program.overlap.description {
      return "overlap policy"
    }
    if chain.runs.tokenIfTaken?.isCancelled ?? false { return "the chain's token" }
    if chain.generation.isCancelled { return "cancelRuns" }
    if scope?.request != nil { return "a token around it" }
    if outers.contains(where: { $0.requestToItself != nil }) { return "the outer run" }
    if let siblings = child?.siblings, siblings.decider.map({ $0 != child?.place }) ?? false {
      return siblings.nesting == .race ? "a faster branch" : "a failed branch"
    }
    return hasHandle && run?.request != nil ? "its handle" : "its task"
  }

  var requestFromElsewhere: Cancellation? {
    requestToItself ?? outers.lazy.compactMap(\.requestToItself).first
  }

  private var requestToItself: Cancellation? {
    run?.request ?? chain.request ?? scope?.request
  }

  /// Waits in such a way that any cancellation of the run ends the wait.
  ///
  /// A run with its own task is interrupted anyway. A plain run checks for cancellation only before each step, so it
  /// waits in a separate task.
  nonisolated(nonsending) func wait<Value: Sendable>(_ wait: @escaping @Sendable () async -> Value) async -> Value {
    var tokens: [CancellationToken] = []
    for context in sequence(first: self, next: \.outer) where context.run == nil {
      tokens.append(context.chain.generation)
      if let token = context.chain.runs.tokenIfTaken { tokens.append(token) }
      tokens += context.scope?.tokens ?? []
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
