// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Runs a body once for each seed, of which there are 1,000 unless a test has several arguments to share them, each with an interleaving of its own, and names the seed that fails.
///
/// Where the library cannot pass on the executor (before macOS 26.4 and its companions) there is nothing to simulate.
func forEachSeed(
  _ count: UInt64 = 1_000,
  _ name: StaticString = #function,
  _ body: @escaping @Sendable (SeededGenerator) async throws -> Void
) async {
  guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else { return }
  await onForeignThread {
    for seed in seeds(count) {
      do {
        try SeededExecutor(seed: seed).run { try await body(SeededGenerator(seed: seed)) }
      } catch {
        Issue.record(error, "\(name), seed \(seed)")
      }
    }
  }
}

/// What a simulation found not to hold.
struct Broken: Error, CustomStringConvertible {
  let description: String
}
