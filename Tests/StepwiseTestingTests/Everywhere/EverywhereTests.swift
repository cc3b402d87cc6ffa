// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EverywhereTests {
  /// A chain that does everything right.
  @Sendable private static func booking(_ probe: RunProbe) -> Chain<Int, String> {
    let object = probe.track()
    return Chain("reserve", undo: { (_: Int) in probe.undone("reserve") }) { (order: Int) in
      try probe.step("reserve")
      try await probe.clock.sleep(for: .seconds(1))
      probe.completed("reserve")
      return order
    }
    .then("charge", undo: { _ in probe.undone("charge") }) { order in
      try probe.step("charge")
      await Task.yield()
      probe.completed("charge")
      return order
    }
    .then("send") { [object] order in
      try probe.step("send")
      try await probe.clock.sleep(for: .seconds(2))
      return withExtendedLifetime(object) { "\(order)" }
    }
    .timeout(.seconds(60), clock: probe.clock)
    .finally { _ in probe.finalized("close") }
    .finally { _ in probe.finalized("hide") }
  }

  @Test func `A chain that keeps its guarantees passes`() async throws {
    #expect(try await cancelEverywhere(input: 7, Self.booking) > 30)
    #expect(try await failEverywhere(input: 7, Self.booking) == 3)
  }

  @Test
  func `Handlers and callbacks are awaited at each point`() async throws {
    let makeChain: @Sendable (RunProbe) -> Chain<Int, Int> = { probe in
      Chain { (number: Int) in
        await withCheckedContinuation { continuation in
          Thread.detachNewThread { continuation.resume(returning: number) }
        }
      }
      .then { @MainActor (number: Int) in number + 1 }
      .finally { @MainActor _ in probe.finalized("hide") }
    }
    #expect(try await cancelEverywhere(input: 1, makeChain) > 10)
  }

  enum Nesting: String, CaseIterable, Sendable { case appending, zip, race, retry }

  /// A chain that holds on to something, in a chain that holds on to something else.
  @Sendable private static func order(_ nesting: Nesting, _ probe: RunProbe) -> Chain<Int, Int> {
    func part(_ name: String, seconds: Int) -> Chain<Int, Int> {
      Chain(name) { (number: Int) in
        try probe.step(name)
        if seconds > 0 { try await probe.clock.sleep(for: .seconds(seconds)) }
        return number
      }
      .finally { _ in probe.finalized("close \(name)") }
    }
    let reserve = Chain<Int, Int>("reserve") { number in
      try probe.step("reserve")
      try await probe.clock.sleep(for: .seconds(1))
      return number
    }
    let whole =
      switch nesting {
      case .appending: reserve.appending(part("pay", seconds: 0)).appending(part("send", seconds: 2))
      case .zip: reserve.appending(Chain.zip(part("pay", seconds: 2), part("send", seconds: 1)).then { $0.0 + $0.1 })
      case .race: reserve.appending(Chain.race(part("pay", seconds: 2), part("send", seconds: 1)))
      case .retry:
        reserve.appending(part("pay", seconds: 1))
          .retry(RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(1))), clock: probe.clock)
      }
    return whole.finally { _ in probe.finalized("hide") }
  }

  @Test(arguments: Nesting.allCases)
  func `A handler of a nested chain that has not begun need not run`(nesting: Nesting) async throws {
    #expect(try await cancelEverywhere(input: 1) { Self.order(nesting, $0) } > 10)
    #expect(try await failEverywhere(input: 1) { Self.order(nesting, $0) } > 1)
  }

  @Test
  func `A handler of a nested chain that has begun must run`() async {
    let found = await violations { probe in
      Chain { (number: Int) in number }
        .appending(
          Chain { (number: Int) in
            try await probe.clock.sleep(for: .seconds(1))
            try? await probe.clock.sleep(for: .seconds(1))
            return number
          }
          .finally { state in
            // Only a run that is left alone, or is interrupted early, calls it.
            let now = probe.clock.now.offset
            if now < .seconds(1) || now >= .seconds(2) { probe.finalized("close") }
          }
        )
    }
    #expect(found.contains("'close' of a nested chain that had begun did not run"))
  }

  private func violations<Output: Sendable>(
    _ makeChain: @escaping @Sendable (RunProbe) async throws -> Chain<Int, Output>
  ) async -> String {
    let failure = await #expect(throws: EverywhereFailure.self) { try await cancelEverywhere(input: 1, makeChain) }
    return failure?.violations.joined(separator: " ") ?? ""
  }

  @Test func `A step that ignores cancellation for ever is found`() async {
    let found = await violations { probe in
      Chain { (number: Int) in
        try? await probe.clock.sleep(for: .seconds(1))
        if Task.isCancelled { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
        return number
      }
    }
    #expect(found.contains("does not complete"))
  }

  @Test func `An undo that runs twice is found`() async {
    let found = await violations { probe in
      Chain(undo: { (_: Int) in
        probe.undone("a")
        probe.undone("a")
      }) { (number: Int) in
        probe.completed("a")
        return number
      }
      .then { number in
        try await probe.clock.sleep(for: .seconds(1))
        return number
      }
    }
    #expect(found.contains("'a' was undone twice."))
  }

  @Test func `An undo that is missing is found`() async {
    let found = await violations { probe in
      Chain { (number: Int) in
        probe.completed("a")
        try await probe.clock.sleep(for: .seconds(1))
        return number
      }
    }
    #expect(found.contains("'a' completed and was not undone."))
  }

  /// What `failEverywhere` says of three steps, of which the second is undone a number of times.
  private func violations(undosOfB: Int) async -> [String] {
    let failure = await #expect(throws: EverywhereFailure.self) {
      try await failEverywhere(input: 1) { probe in
        Chain { (number: Int) in
          try await step("a") {
            try probe.step("a")
            probe.completed("a")
          } undo: {
            probe.undone("a")
          }
          try await step("b") {
            try probe.step("b")
            probe.completed("b")
          } undo: {
            for _ in 0..<undosOfB { probe.undone("b") }
          }
          try await step("c") { try probe.step("c") }
          return number
        }
      }
    }
    return failure?.violations ?? []
  }

  @Test func `failEverywhere names the step whose undo is wrong`() async {
    #expect(await violations(undosOfB: 0) == ["'b' completed and was not undone."])
    #expect(await violations(undosOfB: 2) == ["'b' was undone twice."])
  }

  @Test func `An undo of a step that has not completed is found`() async {
    let found = await violations { probe in
      Chain(undo: { (_: Int) in probe.undone("a") }) { (number: Int) in number }
        .then { number in
          try await probe.clock.sleep(for: .seconds(1))
          return number
        }
    }
    #expect(found.contains("'a' was undone, but it had not completed."))
  }

  @Test func `Undos in the wrong order are found`() async {
    let found = await violations { probe in
      Chain(undo: { (_: Int) in
        for name in ["a", "b"] { probe.undone(name) }
      }) { (number: Int) in
        for name in ["a", "b"] { probe.completed(name) }
        return number
      }
      .then { number in
        try await probe.clock.sleep(for: .seconds(1))
        return number
      }
    }
    #expect(found.contains("'a' was undone before 'b', which completed later."))
  }

  @Test func `A handler that does not run is found`() async {
    let found = await violations { probe in
      Chain { (number: Int) in
        try await probe.clock.sleep(for: .seconds(1))
        return number
      }
      .finally { state in
        if case .resolved = state { probe.finalized("close") }
      }
    }
    #expect(found.contains("handlers [] ran, not [\"close\"]"))
  }

  @Test func `A task that waits for ever is found`() async {
    let found = await violations { probe in
      Chain { (number: Int) in
        Task { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
        return number
      }
    }
    #expect(found.contains("still alive"))
  }

  @Test func `An object that leaks is found`() async {
    let kept = Recorder<LifetimeTracker.Tracked>()
    let found = await violations { probe in
      Chain { (number: Int) in
        kept.record(probe.track())
        return number
      }
    }
    #expect(found.contains("not released"))
  }

  @Test func `A failure names its cancellation point`() async throws {
    let failure = try #require(
      await #expect(throws: EverywhereFailure.self) {
        try await failEverywhere(input: 1) { probe in
          Chain("a") { (number: Int) in
            probe.completed("a")
            try probe.step("after a")
            return number
          }
          .finally { state in
            if case .resolved = state { for _ in 0..<1 { probe.undone("a") } }
          }
        }
      }
    )
    #expect(failure.description.contains("with a failure at 'after a'"))
  }
}
