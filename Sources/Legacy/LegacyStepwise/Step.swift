// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport
internal import Stepwise

/// The argument of a step of edition 1: its input, and how to end.
///
/// The first call of `resolve` or `error` ends the step, on the calling thread, and later ones change nothing. A step
/// that is released without a call ends with `ResolverError.abandoned`.
@available(*, deprecated, message: "Take the input as the closure's argument, return the output and throw the error")
public final class Step<Input, Output> {
  /// The output of the step before, or the input that the chain was started with.
  @available(*, deprecated, message: "Use the closure's argument")
  public let input: Input

  let handler: Handler<Output>

  init(input: Input, handler: Handler<Output>) {
    self.input = input
    self.handler = handler
  }

  /// Ends the step with its output.
  @available(*, deprecated, message: "Return the output")
  public func resolve(_ output: sending Output) { handler.settleOnce(.resolved(Sent(output))) }

  /// Ends the step, and with it the chain, with an error.
  @available(*, deprecated, message: "Throw the error")
  public func error(_ error: any Error) { handler.settleOnce(.failed(error)) }
}

@available(*, deprecated)
extension Step where Output == Void {
  /// Ends the step.
  @available(*, deprecated, message: "Return from the closure")
  public func resolve() { resolve(()) }
}

@available(*, deprecated)
extension Step: Sendable where Input: Sendable {}

/// Ends a step of edition 2 that ends later.
///
/// The first call of `pass` or `fail` ends the step, on the calling thread, and later ones change nothing. A handler
/// that is released without a call ends the step with `ResolverError.abandoned`.
@available(*, deprecated, message: "Use Step.callback { input, resolver in … } of Stepwise and its Resolver")
public final class Handler<Output>: Sendable {
  private struct State: Sendable {
    var calls = 0
    /// Nil once the step has ended: a screen that keeps the handler would otherwise retain the closures that retain it.
    var step: RunningStep?
  }

  private let state: Lock<State>
  private let location: Location

  init(_ step: RunningStep, _ location: Location) {
    state = Lock(State(step: step))
    self.location = location
  }

  deinit {
    guard let run else { return }
    let error = ResolverError(.abandoned, file: location.file, line: location.line)
    settleOnce(run.isCancelled ? .cancelled : .failed(error))
  }

  /// Ends the step with its output.
  @available(*, deprecated, message: "Use resolve(_:) of Resolver")
  public func pass(_ output: sending Output) { settle(.resolved(Sent(output))) }

  /// Ends the step, and with it the chain, with an error.
  @available(*, deprecated, message: "Use fail(_:) of Resolver, which returns whether it was first")
  public func fail(_ error: any Error) { settle(.failed(error)) }

  /// Ends the step, on this thread, unless it has ended already, which is reported.
  func settle(_ ended: Ended) {
    let count = settleOnce(ended)
    if count > 1 { ResolverMisuse.handler(ResolverMisuse(file: location.file, line: location.line, count: count)) }
  }

  /// Ends the step unless it has ended already, as edition 1 did; returns how often that was tried.
  ///
  /// A cancellation does not end a step: what its closure works on is in use until it returns, throws or calls this.
  @discardableResult
  func settleOnce(_ ended: Ended) -> Int {
    let (count, step) = state.withLock { state in
      state.calls += 1
      return (state.calls, state.step.take())
    }
    step?.end(ended)
    return count
  }

  /// The run that the step belongs to, until the step has ended.
  var run: ChainRun? { state.withLock { $0.step }?.run }
}

/// Where a handler was created, which its diagnostics name.
struct Location: Sendable {
  let file: String
  let line: UInt
}

@available(*, deprecated)
extension Handler where Output == Void {
  /// Ends the step.
  @available(*, deprecated, message: "Use resolve() of Resolver")
  public func pass() { pass(()) }
}
