// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Dispatch
internal import Stepwise

/// A step of a run, from its start to its end.
@available(*, deprecated)
final class Ending: Sendable {
  /// Where a handler was created, which its diagnostics name.
  struct Location: Sendable {
    let file: String
    let line: UInt
  }

  private struct Waiting: Sendable {
    var machine = EndingMachine()
    var registrations: [CancellationRegistration] = []
    /// Passes a cancellation to the step's own work, which then ends the step.
    var forward: (@Sendable (_ reason: String?) -> Void)?
    /// Where the handler that was released during the closure was created.
    var abandoned: Location?
  }

  private let run: ChainRun
  private let node: Node
  private let input: any Carried
  private let inherited: Node.Handlers
  private let waiting = Lock(Waiting())

  init(_ run: ChainRun, _ node: Node, _ input: any Carried, inheriting inherited: Node.Handlers) {
    self.run = run
    self.node = node
    self.input = input
    self.inherited = inherited
  }

  /// Does the step's work.
  ///
  /// - Returns: What is left to do when the step's closure may run again; nil when a handler ends the step.
  func begin(_ work: Node.Work) -> (() -> Void)? {
    if run.isCancelled { return { self.end(.cancelled) } }
    if let ended = work(input, self) { return { self.end(ended) } }
    switch waiting.withLock({ $0.machine.closureReturned(isCancelled: run.isCancelled && $0.forward == nil) }) {
    case .nothing: return nil
    case .endCancelled: return { self.end(.cancelled) }
    case .endAbandoned: return { self.endAbandoned() }
    case .wait:
      listen()
      return nil
    }
  }

  /// Ends the step, on this thread, unless it has ended already.
  func settle(_ ended: Ended, from location: Location) {
    switch waiting.withLock({ $0.machine.call() }) {
    case .end: end(ended)
    case .ignore: break
    case .report(let count):
      ResolverMisuse.handler(ResolverMisuse(file: location.file, line: location.line, count: count))
    }
  }

  /// The last reference to the step's handler is gone.
  func abandon(from location: Location) {
    let action = waiting.withLock { waiting in
      waiting.abandoned = location
      return waiting.machine.abandon()
    }
    if action == .endAbandoned { endAbandoned() }
  }

  private func endAbandoned() {
    let location = waiting.withLock { $0.abandoned } ?? Location(file: "", line: 0)
    end(.failed(ResolverError(.abandoned, file: location.file, line: location.line)))
  }

  /// A Boolean value that indicates whether the run that the step belongs to was cancelled.
  var isRunCancelled: Bool { run.isCancelled }

  /// Lets the step's own work react to a cancellation, and end the step.
  func forwardCancellation(_ forward: @escaping @Sendable (_ reason: String?) -> Void) {
    _ = waiting.withLock { exchange(&$0.forward, with: forward) }
  }

  // MARK: - Cancellation

  /// A step that waits for its handler does not wait any longer when the run is cancelled.
  private func listen() {
    let registrations = run.onCancel { [weak self] reason in self?.cancel(reason) }
    let isObsolete = waiting.withLock { waiting in
      if waiting.machine.isWaiting { waiting.registrations = registrations }
      return !waiting.machine.isWaiting
    }
    if isObsolete { for registration in registrations { registration.remove() } }
  }

  private func cancel(_ reason: String?) {
    if let forward = waiting.withLock({ $0.machine.isWaiting ? $0.forward : nil }) { return forward(reason) }
    guard waiting.withLock({ $0.machine.cancel() }) == .endCancelled else { return }
    // `finally` runs in the queue of the step that ended, not on the thread that cancels.
    node.queue.async { self.end(.cancelled) }
  }

  private func end(_ ended: Ended) {
    let (registrations, forward) = waiting.withLock { waiting in
      defer { (waiting.registrations, waiting.forward) = ([], nil) }
      return (waiting.registrations, waiting.forward)
    }
    for registration in registrations { registration.remove() }
    withExtendedLifetime(forward) {}
    run.end(node, ended, inheriting: inherited)
  }
}
