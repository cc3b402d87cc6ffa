// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ReadmeModifierTests {
  @Test func `A step that takes too long is retried`() async throws {
    let attempts = Recorder<String>()
    @Sendable func fetchQuote(_ symbol: String) async throws -> Int {
      attempts.record(symbol)
      if attempts.elements.count == 1 { throw Failure("busy") }
      return 42
    }

    let quote = Chain("quote") { (symbol: String) in try await fetchQuote(symbol) }
      .timeout(.seconds(2))
      .retry(
        RetryPolicy(maxAttempts: 3, backoff: .exponential(from: .milliseconds(10), cap: .seconds(5))),
        if: { error in error is Failure || error is TimeoutError }
      )

    #expect(try await quote.run("SWFT") == 42)
    #expect(attempts.elements.count == 2)
  }

  @Test func `A step that ignores cancellation is abandoned`() async throws {
    let clock = ManualClock()
    let closed = Recorder<Int>()
    let answer = Recorder<CheckedContinuation<Int, Never>>()
    @Sendable func openConnection() async -> Int {
      await withCheckedContinuation { answer.record($0) }
    }

    let connection = Chain("connect") { await openConnection() }
      .abandon(after: .seconds(3), clock: clock, discarding: { late in closed.record(late) })

    let run = connection.start()
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(3))
    let error = await #expect(throws: TimeoutError.self) { try await run.value }
    #expect(error?.step == "connect")
    try #require(await answer.elements(atLeast: 1).first).resume(returning: 9)
    #expect(await closed.elements(atLeast: 1) == [9])
  }

  @Test func `Completed steps are undone newest first`() async throws {
    let log = Recorder<String>()
    @Sendable func book(_ what: String) async throws -> String {
      log.record("book \(what)")
      return what
    }
    @Sendable func release(_ what: String) async throws { log.record("release \(what)") }
    @Sendable func charge(_ hotel: String) async throws { throw Failure("card refused") }

    let trip = Chain("plan") { (city: String) in "flight to \(city)" }
      .then("flight", undo: { flight in try await release(flight) }) { plan in try await book(plan) }
      .then("hotel", undo: { hotel in try await release(hotel) }) { _ in try await book("hotel") }
      .then("payment") { hotel in try await charge(hotel) }

    await #expect(throws: Failure("card refused")) { try await trip.run("Oslo") }
    #expect(log.elements == ["book flight to Oslo", "book hotel", "release hotel", "release flight to Oslo"])
  }

  @Test func `A newer search replaces the older one`() async throws {
    let endless = Endless()
    @Sendable func find(_ text: String) async throws -> Int {
      if text == "s" { try await endless(text) }
      return text.count
    }

    let search = Chain("search") { (text: String) in try await find(text) }
      .overlap(.cancelPrevious)

    let older = search.start("s")
    await endless.begun.elements(atLeast: 1)
    #expect(try await search.run("swift") == 5)
    guard case .cancelled(let cancellation) = await older.outcome else {
      Issue.record("the older search was not cancelled")
      return
    }
    #expect(cancellation.reason == "cancelPrevious")
  }
}
