// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// The order of the README: every failure at every step, and every cancellation at every suspension point.
@Suite(.timeLimit(.minutes(5)))
struct StepOrderTests {
  private static func order(_ probe: RunProbe, attempts: Int = 2, parcels: Int = 2) -> Chain<Int, String> {
    @Sendable func work(_ name: String) async throws {
      try probe.step(name)
      await Task.yield()
      try await probe.clock.sleep(for: .milliseconds(10))
    }
    let policy = RetryPolicy(maxAttempts: attempts, backoff: .constant(.seconds(1)))
    return Chain("order") { (cart: Int) in
      let goods = try await step("reserve") {
        try await work("reserve")
        probe.completed("reserve")
        return cart
      } undo: { _ in
        probe.undone("reserve")
      }
      let receipt = try await step("charge", retry: policy, clock: probe.clock) {
        try await step("authorize") {
          try await work("authorize")
          probe.completed("authorize")
        } undo: {
          probe.undone("authorize")
        }
        try await work("capture")
        probe.completed("charge")
        return "receipt \(goods)"
      } undo: { (_: String) in
        probe.undone("charge")
      }
      for parcel in 0..<parcels {
        try await step("ship \(parcel)", timeout: .seconds(30), clock: probe.clock) {
          try await step("label \(parcel)") {
            try await work("label \(parcel)")
            probe.completed("label \(parcel)")
          } undo: {
            probe.undone("label \(parcel)")
          }
          try await work("ship \(parcel)")
        }
      }
      async let mail: Void = step("mail") { try await work("mail") }
      async let invoice: Void = step("invoice") {
        try await work("invoice")
        probe.completed("invoice")
      } undo: {
        probe.undone("invoice")
      }
      _ = try await (mail, invoice)
      return receipt
    }
  }

  // G42
  @Test func `Every failure undoes what the order completed`() async throws {
    let count = try await failEverywhere(input: 1) { probe in
      Self.order(probe, attempts: 1).finally { _ in probe.finalized("order") }
    }
    #expect(count == 9)
    // An attempt that fails undoes what it completed, and the next one succeeds.
    try await failEverywhere(input: 1) { Self.order($0) }
  }

  // G42
  @Test func `Every cancellation undoes what the order completed`() async throws {
    let count = try await cancelEverywhere(input: 1) { probe in
      Self.order(probe).finally { _ in probe.finalized("order") }
    }
    #expect(count > 60)
    try await cancelEverywhere(input: 1) { probe in
      Chain("plan") { (cart: Int) in cart }.appending(Self.order(probe).overlap(.serial)).then { $0.count }
        .finally { _ in probe.finalized("order") }
    }
  }

  // G42
  @Test func `The order ends in the same way in every interleaving`() async throws {
    try await explore(seeds: 0..<UInt64(scaled(1_000) / 2)) { clock in
      let log = Recorder<String>()
      let chain = Chain("order") { () in
        try await step("reserve") {
          try await clock.sleep(for: .seconds(1))
        } undo: {
          log.record("release")
        }
        async let mail: Void = step("mail") {
          try await clock.sleep(for: .seconds(2))
        } undo: {
          log.record("recall")
        }
        async let invoice: Void = step("invoice", timeout: .seconds(9), clock: clock) {
          try await step("number") {
            await Task.yield()
          } undo: {
            log.record("cancel number")
          }
          try await clock.sleep(for: .seconds(3))
          throw Fault()
        }
        _ = try await (mail, invoice)
      }
      .finally { log.record($0.brief) }
      _ = await resultOf { try await chain.run() }
      let expected = ["cancel number", "recall", "release", "failed \(Fault())"]
      guard log.elements == expected else { throw Broken(description: "\(log.elements)") }
    }
  }
}
