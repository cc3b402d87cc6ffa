// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Duration {
  /// The longest wait that this package uses.
  package static var century: Duration { .seconds(3_155_760_000) }

  /// The duration, clamped to between zero and a century.
  ///
  /// Every clock can add that to its time; longer ones may trap.
  package var clamped: Duration { min(max(self, .zero), .century) }
}
