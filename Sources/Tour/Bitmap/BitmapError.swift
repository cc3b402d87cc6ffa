// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Why a picture could not be read: one line that says what is wrong and what to do.
struct BitmapError: Error, Equatable, CustomStringConvertible {
  /// The kinds of trouble.
  enum Code: Sendable {
    /// The bytes are something else than a BMP.
    case notABitmap
    /// The file ends before its pixels do.
    case truncated
    /// The sides are zero, negative or far too large.
    case absurdSize
    /// A BMP, but of a kind that is not read here.
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
