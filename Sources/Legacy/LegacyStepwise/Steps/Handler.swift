// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// What a step of edition 2 is given that ends later: how to end.
///
/// The first call of `pass` or `fail` ends the step, and later ones change nothing. A handler that is let go of without
/// either ends the step with an error that says so.
@available(*, deprecated, renamed: "Resolver", message: "Use Step.callback { input, resolver in … } and its Resolver")
public final class Handler<Output>: Sendable {
  private let resolver: Resolver<Parcel>

  init(resolver: Resolver<Parcel>) {
    self.resolver = resolver
  }

  /// Ends the step with its output.
  @available(*, deprecated, renamed: "resolve(_:)")
  public func pass(_ output: sending Output) { settle(Parcel(output)) }

  /// Ends the step, and with it the chain, with an error.
  @available(*, deprecated, message: "Use fail(_:) of Resolver, which says whether it was first")
  public func fail(_ error: any Error) { resolver.fail(error) }

  func settle(_ parcel: Parcel) { resolver.resolve(parcel) }
}

@available(*, deprecated)
extension Handler where Output == Void {
  /// Ends the step.
  @available(*, deprecated, renamed: "resolve()")
  public func pass() { pass(()) }
}
