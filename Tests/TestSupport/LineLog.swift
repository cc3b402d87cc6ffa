// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Something mutable that is not Sendable, to be captured where the API allows it.
package final class LineLog {
  package var lines: [String] = []

  package init() {}

  package func write(_ line: String) { lines.append(line) }
}
