// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// Cancels the chain that it was taken from, once and for good.
@available(*, deprecated, message: "Use CancellationToken of Stepwise, or cancel the Run that start returns")
public final class CancellationToken: Sendable {
  private let modern: Stepwise.CancellationToken

  init(_ modern: Stepwise.CancellationToken) {
    self.modern = modern
  }

  /// Creates a token that nobody has cancelled, and that no chain has.
  @available(*, deprecated, message: "Use CancellationToken() of Stepwise, and withCancellation(by:)")
  public convenience init() { self.init(Stepwise.CancellationToken()) }

  /// Whether the token was cancelled.
  @available(*, deprecated, renamed: "isCancelled")
  public var cancelled: Bool { modern.isCancelled }

  /// The reason given with the cancellation.
  @available(*, deprecated, message: "Use reason of CancellationToken of Stepwise")
  public var reason: String? { modern.reason }

  /// Cancels the chain.
  ///
  /// The running step is interrupted, if it is one that waits for its handler, and no further one begins.
  ///
  /// - Parameter reason: Why, for those who are told.
  /// - Returns: `true` for the call that cancelled the token, `false` for every later one.
  @available(*, deprecated, message: "Use cancel(reason:) of CancellationToken of Stepwise, or of the Run")
  @discardableResult
  public func cancel(reason: String? = nil) -> Bool { modern.cancel(reason: reason) }

  /// Cancels the chain, as `cancel(reason:)` does.
  ///
  /// - Parameter reason: Why, for those who are told.
  /// - Returns: `true` for the call that cancelled the token, `false` for every later one.
  @available(*, deprecated, renamed: "cancel(reason:)")
  @discardableResult
  public func cancel(_ reason: String?) -> Bool { modern.cancel(reason: reason) }
}

@available(*, deprecated)
extension CancellationToken: Equatable {
  /// Tokens are equal when they cancel the same.
  public static func == (left: CancellationToken, right: CancellationToken) -> Bool { left.modern === right.modern }
}
