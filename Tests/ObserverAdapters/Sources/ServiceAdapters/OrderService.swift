// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import ServiceLifecycle
public import Stepwise
public import StepwiseCheckpoints

public struct OrderService<Store: CheckpointStore>: Service {
  let order: Chain<Int, Int>
  let store: Store

  public init(_ order: Chain<Int, Int>, in store: Store) { (self.order, self.store) = (order, store) }

  public func run() async throws {
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
