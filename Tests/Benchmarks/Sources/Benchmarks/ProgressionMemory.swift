// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Runs ten million stages, and 100,000 progressions through a line; returns whether memory stays flat.
func checkProgressionMemory() async throws -> Bool {
  print("\nMemory of progressions")
  for try await _ in Count.first(of: 1_000).stages {}
  let isFlat = try await grows(by: 1_000_000, "10,000,000 stages") {
    for try await _ in Count.first(of: 10_000_000).stages {}
  }
  // The progressions that wait, are in the line; results and Tasks are not.
  let isLineFlat = await grows(by: 100_000 * 200, "100,000 progressions in a line") {
    await runInLine(100_000, maxConcurrent: 4)
  }
  return isFlat && isLineFlat
}

/// Prints by how much a body makes the peak of memory grow, and returns whether that is less than a limit.
nonisolated(nonsending) func grows(
  by limit: Int,
  _ name: String,
  _ body: nonisolated(nonsending) () async throws -> Void
) async rethrows -> Bool {
  let before = peakMemory()
  try await body()
  let growth = peakMemory() - before
  print("\(growth < limit ? "kept  " : "BROKEN") \(name): \(growth / 1024) KiB of \(limit / 1024) KiB")
  return growth < limit
}
