// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import Testing

/// A further run with an id compares its input with the stored one.
@Suite(.timeLimit(.minutes(1))) struct DurableInputTests {
  /// Encodes its tags in another order each time, as a set does in each process.
  private struct Cart: Codable, Sendable {
    var tags: [String]

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(tags.shuffled())
    }

    init(_ tags: [String]) { self.tags = tags }

    init(from decoder: any Decoder) throws { tags = try decoder.singleValueContainer().decode([String].self) }
  }

  private struct EquatableCart: Codable, Sendable, Equatable {
    var cart: Cart

    static func == (one: EquatableCart, other: EquatableCart) -> Bool {
      one.cart.tags.sorted() == other.cart.tags.sorted()
    }
  }

  private let store = MemoryCheckpointStore()
  private let tags = (0..<50).map { "tag \($0)" }

  /// A run that fails in its first process, and that another one continues.
  private func chain<Input: Codable & Sendable>(_ type: Input.Type) -> Chain<Input, Int> {
    Chain("order") { (_: Input) in try await step("charge") { 1 } }
  }

  // G105
  @Test func `An input that is not Equatable is not compared`() async throws {
    let chain = chain(Cart.self)
    for _ in 0..<3 { #expect(try await chain.run(Cart(tags), id: "a", in: store) == 1) }
    #expect(try await chain.run(Cart([]), id: "a", in: store) == 1)
  }

  // G105
  @Test func `An Equatable input is compared as a value`() async throws {
    let chain = chain(EquatableCart.self)
    for _ in 0..<3 { #expect(try await chain.run(EquatableCart(cart: Cart(tags)), id: "b", in: store) == 1) }
    let error = await #expect(throws: CheckpointError.self) {
      try await chain.run(EquatableCart(cart: Cart([])), id: "b", in: store)
    }
    guard case .differentStart("b", _) = error else {
      Issue.record("it is \(String(describing: error))")
      return
    }
  }
}
