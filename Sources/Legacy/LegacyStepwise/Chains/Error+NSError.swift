// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Foundation

// Edition 1 passed `NSError`, also in `ChainState.Errored`, and edition 2 any error. One enum has one of them.

extension Error {
  /// The code of the error as `NSError`, which edition 1 passed.
  @available(*, deprecated, message: "Write `(error as NSError).code`")
  public var code: Int { (self as NSError).code }

  /// The domain of the error as `NSError`, which edition 1 passed.
  @available(*, deprecated, message: "Write `(error as NSError).domain`")
  public var domain: String { (self as NSError).domain }

  /// The details of the error as `NSError`, which edition 1 passed.
  @available(*, deprecated, message: "Write `(error as NSError).userInfo`")
  public var userInfo: [String: Any] { (self as NSError).userInfo }
}
