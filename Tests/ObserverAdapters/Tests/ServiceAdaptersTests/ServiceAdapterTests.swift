// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Logging
import ServiceLifecycle
import Stepwise
import StepwiseCheckpoints
import Testing

@testable import ServiceAdapters

/// A group of services stops what runs, and the next one continues it.
@Suite(.timeLimit(.minutes(5)))
struct ServiceAdapterTests {
  @Test func `A durable chain stops with its group, and continues with the next one`() async throws {
    let store = MemoryCheckpointStore()
    let (began, mayBegin) = (CancellationToken(), CancellationToken())
    let order = Chain("order") { (number: Int) in
      try await step("reserve") { number }
      try await step("ship") {
        began.cancel()
        await mayBegin.waitForCancellation()
        try Task.checkCancellation()
      }
      return number
    }
    // What an earlier process left behind.
    let first = Task { try await order.run(7, id: "order-7", in: store) }
    await began.waitForCancellation()
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }

    let group = ServiceGroup(services: [OrderService(order: order, store: store)], logger: Logger(label: "test"))
    async let ended: Void = group.run()
    while order.runsInFlight == 0 { await Task.yield() }
    await group.triggerGracefulShutdown()
    try await ended
    #expect(try await order.unfinished(in: store) == ["order-7"])

    mayBegin.cancel()
    let next = ServiceGroup(services: [OrderService(order: order, store: store)], logger: Logger(label: "test"))
    async let over: Void = next.run()
    while try await !order.unfinished(in: store).isEmpty { await Task.yield() }
    await next.triggerGracefulShutdown()
    try await over
    #expect(try await order.unfinished(in: store).isEmpty)
  }
}
