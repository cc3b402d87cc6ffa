// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// Cancels the chain whose token it is, permanently.
@available(*, deprecated, message: "Use CancellationToken of Stepwise, or cancel the Run that start returns")
public final class CancellationToken: Sendable {
  private struct State {
    var isCancelled = false
    var reason: String?
  }

  private let state = Lock(State())

  /// Calls the handlers of those that wait for a cancellation.
  let modern = Stepwise.CancellationToken()

  init(_: Void) {}

  /// Creates a token that is not cancelled and belongs to no chain.
  @available(*, deprecated, message: "Use CancellationToken() of Stepwise, and withCancellation(by:)")
  public convenience init() { self.init(()) }

  /// A Boolean value that indicates whether the token was cancelled.
  @available(*, deprecated, renamed: "isCancelled")
  public var cancelled: Bool { isCancelled }

  /// A Boolean value that indicates whether the token was cancelled, under its new name.
  public var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// The reason passed to `cancel`, or assigned since.
  @available(*, deprecated, message: "Use reason of CancellationToken of Stepwise, which only cancel(reason:) sets")
  public var reason: String? {
    get { state.withLock { $0.reason } }
    set { state.withLock { $0.reason = newValue } }
  }

  /// Cancels the chain.
  ///
  /// No further step begins. A step that runs, or waits for its handler, continues to its end.
  ///
  /// - Parameter reason: The reason for the cancellation.
  /// - Returns: `true` for the call that cancelled the token, `false` for every later one.
  @available(*, deprecated, message: "Use cancel(reason:) of CancellationToken of Stepwise, or of the Run")
  @discardableResult
  public func cancel(reason: String? = nil) -> Bool {
    let isFirst = state.withLock { state in
      guard !state.isCancelled else { return false }
      state = State(isCancelled: true, reason: reason)
      return true
    }
    if isFirst { modern.cancel(reason: reason) }
    return isFirst
  }

  /// Cancels the chain, as `cancel(reason:)` does.
  ///
  /// - Parameter reason: The reason for the cancellation.
  /// - Returns: `true` for the call that cancelled the token, `false` for every later one.
  @available(*, deprecated, renamed: "cancel(reason:)")
  @discardableResult
  public func cancel(_ reason: String?) -> Bool { cancel(reason: reason) }
}

@available(*, deprecated)
extension CancellationToken: Equatable {
  /// Returns a Boolean value that indicates whether two references are to one token.
  public static func == (left: CancellationToken, right: CancellationToken) -> Bool { left === right }
}
