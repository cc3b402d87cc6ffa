// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// Undos of work that has failed although its run continues.
@Suite(.timeLimit(.minutes(2)))
struct DurableAttemptTests {
  /// What fails and is undone while its run continues.
  enum Kind: CaseIterable {
    case retry, retryThatSucceeds, limit, retryInScope, chainRetry, chainTimeout, nestedChain, zip, race

    /// Returns a chain with the work, whose first attempts fail.
    func chain(_ work: @escaping @Sendable (_ attempt: Int) async throws -> Void) -> Chain<Int, Int> {
      let attempts = Lock(0)
      let once = RetryPolicy(maxAttempts: 2, backoff: .none)
      let body: @Sendable () async throws -> Void = {
        let attempt = attempts.withLock { count in
          count += 1
          return count
        }
        try await work(attempt)
        throw Declined(card: "x")
      }
      func chain(_ steps: @escaping @Sendable () async throws -> Void) -> Chain<Int, Int> {
        Chain("c") { (input: Int) in
          // Each process counts for itself.
          attempts.withLock { $0 = 0 }
          do { try await steps() } catch is Declined {}
          return input
        }
      }
      let failing = Chain("c") { (input: Int) -> Int in
        try await body()
        return input
      }
      switch self {
      case .retry: return chain { try await steps("all", retry: once) { try await body() } }
      case .retryThatSucceeds:
        return chain {
          try await steps("all", retry: once) {
            do { try await body() } catch is Declined where attempts.withLock({ $0 }) == 2 {}
          }
        }
      case .limit: return chain { try await steps("all", timeout: .seconds(60)) { try await body() } }
      case .retryInScope:
        return chain { try await steps("outer") { try await steps("all", retry: once) { try await body() } } }
      case .chainRetry:
        return failing.retry(once).recover(from: Declined.self) { _ in 1 }
      case .chainTimeout: return failing.timeout(.seconds(60)).recover(from: Declined.self) { _ in 1 }
      case .nestedChain:
        return Chain("pre") { (input: Int) in input }.appending(failing).recover(from: Declined.self) { _ in 1 }
      case .zip:
        return Chain.zip(failing, Chain("b") { (input: Int) in input }).then("sum") { _ in 1 }
          .recover(from: Declined.self) { _ in 1 }
      case .race: return Chain.race(failing, Chain("b") { (input: Int) in input })
      }
    }

    /// Whether the last attempt completes, so that its steps stay.
    var keepsLast: Bool { self == .retryThatSucceeds }
    var isRace: Bool { self == .race }
  }

  // G192
  @Test(arguments: Kind.allCases)
  func `An undo of failed work that throws is tried again by the next resume`(kind: Kind) async throws {
    let (ledger, base) = (Ledger(), MemoryCheckpointStore())
    let chain = kind.chain { _ in
      for name in ["hotel", "flight"] {
        _ = try await step(name) {
          ledger.add("do \(name)")
          return "\(name) \(ledger.count("do \(name)"))"
        } undo: { booked in
          ledger.add("try \(booked)")
          if ledger.count("try \(booked)") == 1 { throw Opaque() }
          ledger.add("undo \(booked)")
        }
      }
    }
    #expect(try await chain.run(1, id: "x", in: base) == 1)
    let bodies = ledger.lines.filter { $0.hasPrefix("do") }
    let undone = ledger.lines.filter { $0.hasPrefix("try") }
    #expect(!kind.isRace && !undone.isEmpty || kind.isRace && undone.count == bodies.count, "\(ledger.lines)")
    // Each process tries what is missing, and repeats nothing.
    #expect(try await chain.resume(id: "x", in: base) == 1)
    #expect(ledger.lines.filter { $0.hasPrefix("do") } == bodies)
    #expect(try await chain.unfinished(in: base).isEmpty, "\(ledger.lines)")
    for line in bodies.isEmpty ? [] : undone {
      #expect(ledger.count("undo" + line.dropFirst(3)) == 1, "\(ledger.lines)")
    }
    let count = ledger.lines.count
    #expect(try await chain.resume(id: "x", in: base) == 1)
    #expect(ledger.lines.count == count)
  }

  // G193
  @Test(arguments: Kind.allCases)
  func `A crash around the undos of failed work loses none of them, and repeats no step`(kind: Kind) async throws {
    /// Returns a chain of which the first undo throws once.
    func chain(_ ledger: Ledger) -> Chain<Int, Int> {
      kind.chain { _ in
        for name in ["hotel", "flight"] {
          _ = try await step(name) {
            ledger.add("do \(name)")
            return "\(name) \(ledger.count("do \(name)"))"
          } undo: { booked in
            ledger.add("try \(booked)")
            if ledger.lines.count(where: { $0.hasPrefix("try") }) == 1 { throw Opaque() }
            ledger.add("undo \(booked)")
          }
        }
        try await step("charge") { ledger.add("do charge") }
      }
    }
    let whole = Ledger()
    _ = try await chain(whole).run(1, id: "x", in: MemoryCheckpointStore())
    let bodies = whole.lines.count { $0.hasPrefix("do") }
    for death in 2...40 {
      for isLate in [false, true] {
        let (ledger, base) = (Ledger(), MemoryCheckpointStore())
        let store = DyingStore(base, at: death, isLate: isLate)
        let chain = chain(ledger)
        _ = try? await chain.run(1, id: "x", in: store)
        for _ in 0..<2 { #expect(try await chain.run(1, id: "x", in: base) == 1, "\(death)") }
        #expect(try await chain.unfinished(in: base).isEmpty, "\(death): \(ledger.lines)")
        // The step in progress is repeated.
        let isRepeated = !kind.isRace && ledger.lines.count { $0.hasPrefix("do") } > bodies + 1
        #expect(!isRepeated, "\(death) \(isLate): \(ledger.lines)")
        for name in ["hotel", "flight"] {
          let done = ledger.count("do \(name)")
          let undone = (1...max(1, done)).count { ledger.count("undo \(name) \($0)") > 0 }
          // A step in progress is repeated under its key, and then only the repetition counts.
          #expect(undone >= done - (kind.keepsLast || kind.isRace ? 2 : 1), "\(death): \(ledger.lines)")
          #expect(kind.keepsLast || done == 0 || ledger.count("undo \(name) \(done)") > 0, "\(death): \(ledger.lines)")
        }
        if store.writes < death { return }
      }
    }
    Issue.record("more writes than expected")
  }
}
