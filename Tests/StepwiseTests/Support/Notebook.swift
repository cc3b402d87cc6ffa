// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Something mutable that is not Sendable, to be captured where the API allows it.
final class Notebook {
  var lines: [String] = []

  func write(_ line: String) { lines.append(line) }
}
