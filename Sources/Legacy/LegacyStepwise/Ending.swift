// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// A step of a run, from its start to its end.
///
/// A cancellation does not end a step: what its closure works on is in use until it returns, throws or calls its handler.
@available(*, deprecated)
final class Ending: Sendable {
  /// Where a handler was created, which its diagnostics name.
  struct Location: Sendable {
    let file: String
    let line: UInt
  }

  private struct Context: Sendable {
    let run: ChainRun
    let node: Node
    let inherited: Node.Handlers
  }

  private struct State: Sendable {
    var machine = EndingMachine()
    /// Nil once the step has ended: a screen that keeps the handler would otherwise retain the closures that retain it.
    var context: Context?
    /// What passes a cancellation to the step's own work, which then ends the step.
    var registrations: [CancellationRegistration] = []
    /// Where the handler that was released without a call was created.
    var abandoned = Location(file: "", line: 0)
  }

  private let state: Lock<State>

  init(_ run: ChainRun, _ node: Node, inheriting inherited: Node.Handlers) {
    state = Lock(State(context: Context(run: run, node: node, inherited: inherited)))
  }

  /// Does the step's work.
  func begin(_ work: Node.Work, _ input: any Carried) {
    if isRunCancelled { return end(.cancelled) }
    if let ended = work(input, self) { return end(ended) }
    if state.withLock({ $0.machine.closureReturned() }) { endAbandoned() }
  }

  /// Ends the step, on this thread, unless it has ended already, which is reported where there is a location.
  func settle(_ ended: Ended, from location: Location?) {
    let count = state.withLock { $0.machine.call() }
    if count == 1 { return end(ended) }
    guard let location else { return }
    ResolverMisuse.handler(ResolverMisuse(file: location.file, line: location.line, count: count))
  }

  /// The last reference to the step's handler is gone.
  func abandon(from location: Location) {
    let isEnd = state.withLock { state in
      state.abandoned = location
      return state.machine.abandon()
    }
    if isEnd { endAbandoned() }
  }

  /// A Boolean value that indicates whether the run that the step belongs to was cancelled.
  var isRunCancelled: Bool { state.withLock { $0.context }?.run.isCancelled ?? false }

  /// Lets the step's own work react to a cancellation, and end the step.
  func onCancel(_ handler: @escaping @Sendable (_ reason: String?) -> Void) {
    guard let run = state.withLock({ $0.context })?.run else { return }
    let registrations = run.onCancel(handler)
    let isObsolete = state.withLock { state in
      if state.context != nil { state.registrations = registrations }
      return state.context == nil
    }
    if isObsolete { for registration in registrations { registration.remove() } }
  }

  private func endAbandoned() {
    let location = state.withLock { $0.abandoned }
    end(isRunCancelled ? .cancelled : .failed(ResolverError(.abandoned, file: location.file, line: location.line)))
  }

  private func end(_ ended: Ended) {
    let (context, registrations) = state.withLock { state in
      defer { (state.context, state.registrations) = (nil, []) }
      return (state.context, state.registrations)
    }
    for registration in registrations { registration.remove() }
    // Safety: `begin` ends a step that has no handler, and the machine lets one call or abandonment end any other.
    guard let context else { preconditionFailure("a step ends again, with \(ended)") }
    context.run.end(context.node, ended, inheriting: context.inherited)
  }
}

/// Decides which event ends a step that has a handler.
///
/// Calls come from the handler's side, from releasing the handler, and from the closure's return.
struct EndingMachine {
  private enum State {
    /// The closure has not returned: what it works on is in use, and only a call of the handler ends the step.
    case running(isAbandoned: Bool)
    /// The closure has returned without a call.
    case waiting
    case ended
  }

  private var state = State.running(isAbandoned: false)
  private var calls = 0

  /// The handler was called.
  ///
  /// - Returns: How often; the first call ends the step.
  mutating func call() -> Int {
    calls += 1
    state = .ended
    return calls
  }

  /// The last reference to the handler is gone.
  ///
  /// - Returns: Whether that ends the step.
  mutating func abandon() -> Bool {
    switch state {
    case .running:
      state = .running(isAbandoned: true)
      return false
    case .waiting:
      state = .ended
      return true
    case .ended: return false
    }
  }

  /// The closure has returned.
  ///
  /// - Returns: Whether that ends the step, since its handler is gone.
  mutating func closureReturned() -> Bool {
    guard case .running(let isAbandoned) = state else { return false }
    state = isAbandoned ? .ended : .waiting
    return isAbandoned
  }
}
