// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

@available(*, deprecated)
extension HTTP {
  /// Counts what is in flight: it is visible while there are more calls of `show()` than of `hide()`.
  ///
  /// The requests of this module call both. Nothing on the screen changes: iOS has had no such indicator since iOS 13.
  @available(*, deprecated, message: "Use HTTP.activity of StepwiseHTTP")
  public final class ActivityIndicator: Sendable {
    /// The indicator that the requests use.
    @available(*, deprecated, message: "Use HTTP.activity of StepwiseHTTP")
    public static let instance = ActivityIndicator()

    private let count = Lock(0)

    /// Creates an indicator of its own count.
    @available(*, deprecated, message: "Use HTTP.activity of StepwiseHTTP")
    public init() {}

    /// A Boolean value that indicates whether something is in flight.
    @available(*, deprecated, message: "Use HTTPActivity.current of StepwiseHTTP")
    public var isVisible: Bool { count.withLock { $0 > 0 } }

    /// Counts one more.
    @available(*, deprecated, message: "Use HTTP.activity of StepwiseHTTP")
    public func show() { count.withLock { $0 += 1 } }

    /// Counts one less; does nothing when nothing was shown.
    @available(*, deprecated, message: "Use HTTP.activity of StepwiseHTTP")
    public func hide() { count.withLock { $0 = max(0, $0 - 1) } }
  }
}
