// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error thrown when a picture cannot be read, described in one line with the fix.
struct BitmapError: Error, Equatable, CustomStringConvertible {
  /// The kinds of errors.
  enum Code: Sendable {
    /// The bytes are not a BMP.
    case notABitmap
    /// The file ends before its pixels do.
    case truncated
    /// The sides are zero, negative or far too large.
    case absurdSize
    /// The BMP is of an unsupported kind.
    case unsupported
    /// The parts of the file contradict each other.
    case damaged
  }

  let code: Code
  let description: String

  init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}
