// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport

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
  private let ending: Ending
  private let location: Ending.Location

  init(_ ending: Ending, _ location: Ending.Location) {
    self.ending = ending
    self.location = location
  }

  deinit { ending.abandon(from: location) }

  /// Ends the step with its output.
  @available(*, deprecated, message: "Use resolve(_:) of Resolver")
  public func pass(_ output: sending Output) { settle(.resolved(Sent(output))) }

  /// Ends the step, and with it the chain, with an error.
  @available(*, deprecated, message: "Use fail(_:) of Resolver, which returns whether it was first")
  public func fail(_ error: any Error) { settle(.failed(error)) }

  func settle(_ ended: Ended) { ending.settle(ended, from: location) }

  /// Ends the step unless it has ended already, as edition 1 did.
  func settleOnce(_ ended: Ended) { ending.settle(ended, from: nil) }
}

@available(*, deprecated)
extension Handler where Output == Void {
  /// Ends the step.
  @available(*, deprecated, message: "Use resolve() of Resolver")
  public func pass() { pass(()) }
}
