// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// The samples of the article on durable chains.
struct DurableArticleTests {
  private let order = Chain("order") { (cart: [String]) in
    try await step("charge") { cart.count }
  }

  @Test func `An order continues`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("durable-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let cart = ["tea"]
    let store = try FileCheckpointStore(directory: folder)
    let receipt = try await order.run(cart, id: "order-7", in: store)
    #expect(receipt == 1)
    try await order.resumeAll(in: store) { id, outcome in print("\(id): \(outcome)") }
  }

  @Test func `The order survives a crash`() async throws {
    let cart = ["tea"]
    try await crashEverywhere { store in try await order.run(cart, id: "order", in: store) }
  }
}
