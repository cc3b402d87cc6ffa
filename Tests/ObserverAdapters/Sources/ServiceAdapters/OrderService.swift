// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import ServiceLifecycle
import Stepwise
import StepwiseCheckpoints

struct OrderService<Store: CheckpointStore>: Service {
  let order: Chain<Int, Int>
  let store: Store

  func run() async throws {
    let shutdown = CancellationToken()
    try await withGracefulShutdownHandler {
      do {
        try await withCancellation(by: shutdown) {
          try await order.resumeAll(in: store) { id, outcome in print("\(id): \(outcome)") }
        }
        try await gracefulShutdown()
      } catch is CancellationError {
        // The runs are stopped, and the next process continues them.
      }
    } onGracefulShutdown: {
      shutdown.cancel()
    }
  }
}
