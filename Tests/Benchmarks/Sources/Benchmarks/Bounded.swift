// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What has bounds.
enum Bounded: String, CaseIterable {
  case chains, steps, concurrency, progressions, checkpoints, durable, jobs, http

  /// Measures it, and returns whether its bounds are kept.
  func check(_ effort: Effort) async throws -> Bool {
    switch self {
    case .chains: try await checkBounds(effort: effort)
    case .steps: try await checkStepBounds(effort: effort)
    case .concurrency: try await checkConcurrencyBounds(effort: effort)
    case .progressions: try await checkProgressionBounds(effort: effort)
    case .checkpoints: try await checkCheckpointBounds(effort: effort)
    case .durable: try await checkDurableBounds(effort: effort)
    case .jobs: try await checkJobBounds(effort: effort)
    case .http: try await checkHTTPBounds(effort: effort)
    }
  }
}
