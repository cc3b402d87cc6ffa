// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Duration {
  /// As long as anything waits here.
  package static var century: Duration { .seconds(3_155_760_000) }

  /// The duration, moved to between zero and a century: every clock can add that to its time, where longer ones trap.
  package var clamped: Duration { min(max(self, .zero), .century) }
}
