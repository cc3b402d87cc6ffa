// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Dispatch
internal import LegacySupport
internal import Stepwise

/// One run of a chain, from step to step.
///
/// A step is enqueued on its queue before `start`, or the call that ended the step before, returns. What a step's end
/// leads to, the handlers included, happens on the thread that ended it.
@available(*, deprecated)
struct ChainRun: Sendable {
  let token: CancellationToken
  /// Cancelled with the token, and with the `Chain` that the run is a part of; nil when it is no part of one.
  var outer: Stepwise.CancellationToken?
  var completion: (@Sendable (Ended) -> Void)?

  /// Cancelled with the run.
  var cancellation: Stepwise.CancellationToken { outer ?? token.modern }
  var isCancelled: Bool { token.cancelled || cancellation.isCancelled }

  /// Enqueues a step on its queue.
  func start(_ node: Node, _ input: Sent<Any>, inheriting inherited: Node.Handlers = Node.Handlers()) {
    let step = RunningStep(run: self, node: node, inherited: inherited)
    node.token = token
    if isCancelled { return step.end(.cancelled) }
    node.log.write { "Starting \($0) with input: \(input.value)" }
    node.queue.async {
      if self.isCancelled { return step.end(.cancelled) }
      if let ended = node.work(input, step) { step.end(ended) }
    }
  }

  /// The chain's own token, or one like it when the `Chain` around it was cancelled.
  fileprivate var cancelledToken: CancellationToken {
    if token.cancelled { return token }
    let own = CancellationToken(())
    own.cancel(reason: cancellation.reason)
    return own
  }
}

/// A step of a run.
@available(*, deprecated)
struct RunningStep: Sendable {
  let run: ChainRun
  let node: Node
  let inherited: Node.Handlers

  /// Continues after a step, or ends the run.
  func end(_ ended: Ended) {
    let handlers = node.handlers(inheriting: inherited)
    switch ended {
    case .resolved(let output, let chosen):
      node.log.write { "Resolved \($0) with output: \(output.value)" }
      if let next = chosen ?? node.next {
        if run.isCancelled { return end(.cancelled) }
        return run.start(next, output, inheriting: handlers)
      }
      handlers.finally?.value(.Resolved(output.value))
    case .failed(let error):
      node.log.write { "\($0) errored: \(error)" }
      handlers.onError?.value(error)
      handlers.finally?.value(.Errored(error))
    case .cancelled:
      let token = run.cancelledToken
      handlers.finally?.value(.Canceled(token))
      node.log.write { step in "\(step) cancelled" + (token.reason.map { " with reason: \($0)." } ?? ".") }
    }
    run.completion?(ended)
  }
}

/// How a chain ended.
@available(*, deprecated, message: "Use ChainState of Stepwise, whose cases are .resolved, .failed and .cancelled")
public enum ChainState {
  /// The chain ended with the output of its last step.
  @available(*, deprecated, message: "Use .resolved of ChainState of Stepwise")
  case Resolved(Any)

  /// A step failed.
  @available(*, deprecated, message: "Use .failed of ChainState of Stepwise")
  case Errored(any Error)

  /// The chain was cancelled, by this token.
  @available(*, deprecated, message: "Use .cancelled of ChainState of Stepwise")
  case Canceled(CancellationToken)

  /// A Boolean value that indicates whether the chain ended with the output of its last step.
  @available(*, deprecated, message: "Match with `if case .resolved = state`")
  public var resolved: Bool { if case .Resolved = self { true } else { false } }

  /// A Boolean value that indicates whether a step failed.
  @available(*, deprecated, message: "Match with `if case .failed = state`")
  public var errored: Bool { if case .Errored = self { true } else { false } }

  /// A Boolean value that indicates whether the chain was cancelled.
  @available(*, deprecated, message: "Match with `if case .cancelled = state`")
  public var canceled: Bool { if case .Canceled = self { true } else { false } }
}

@available(*, unavailable)
extension ChainState: Sendable {}

/// How a step ended.
@available(*, deprecated)
enum Ended: Sendable {
  /// With an output.
  ///
  /// `continuing` is the chain that the step chose to continue with, in place of the steps that follow it.
  case resolved(Sent<Any>, continuing: Node? = nil)
  case failed(any Error)
  case cancelled
}

extension Sent<Any> {
  /// Returns the value, which is on its way from step to step without its type.
  ///
  /// - Throws: ``WrongOutput``, which only the end of a chain can, after a step chose another chain.
  func open<Output>(as type: Output.Type = Output.self) throws -> Output {
    guard let opened = value as? Output else {
      throw WrongOutput(expected: "\(type)", found: "\(Swift.type(of: value))")
    }
    return opened
  }
}

/// A chain that a step chose to continue with ended with another type than the chain it was chosen in.
struct WrongOutput: Error, CustomStringConvertible {
  let expected: String
  let found: String

  var description: String {
    "a step continued with a chain whose output is \(found), in a chain whose output is \(expected)"
  }
}

/// Whether every chain prints a line when a step begins, and one when it ends.
@available(*, deprecated, message: "Read `run.events` of the Run that start returns")
public var StepDebugLoggingEnabled: Bool {
  get { DebugLog.isEnabled.withLock { $0 } }
  set { DebugLog.isEnabled.withLock { $0 = newValue } }
}

/// The log that `StepDebugLoggingEnabled` switches on: a line when a step begins, and one when it ends.
///
/// The lines are those of the original, which wrote them with `debugPrint`.
package struct DebugLog: Sendable {
  /// Whether lines are written.
  static let isEnabled = Lock(false)

  private static let writer = Lock<@Sendable (String) -> Void> { line in
    debugPrint(line)  // Safety: to print is what the switch is for, and it is off by default.
  }

  /// Where lines go.
  package static var output: @Sendable (String) -> Void {
    get { writer.withLock { $0 } }
    set { _ = writer.withLock { exchange(&$0, with: newValue) } }
  }

  let name: String?

  /// Writes a line about the step.
  func write(_ line: (_ step: String) -> String) {
    guard Self.isEnabled.withLock({ $0 }) else { return }
    Self.output(line(name.map { "[Step '\($0)']" } ?? "[Step]"))
  }
}
