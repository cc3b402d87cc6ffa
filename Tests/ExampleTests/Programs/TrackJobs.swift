// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting

/// The server that the jobs ask, and the screen that they report to.
actor MusicServer {
  struct NotFound: Error {}

  nonisolated let clock: ManualClock

  init(clock: ManualClock) { self.clock = clock }

  /// Knows all artists but "Unknown"; does not answer for "Slow".
  func track(_ artist: String) async throws -> String {
    if artist == "Slow" { try await clock.sleep(for: .seconds(1_000_000)) }
    if artist == "Unknown" { throw NotFound() }
    return "1999 by \(artist)"
  }
}

@MainActor final class TrackScreen {
  var shown: [String] = []
}
