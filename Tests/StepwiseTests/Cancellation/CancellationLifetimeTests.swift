// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// What tokens, registrations and handlers keep alive, and for how long.
@Suite(.timeLimit(.minutes(5)))
struct CancellationLifetimeTests {
  private let tracker = LifetimeTracker()

  private func hold(_ token: CancellationToken) -> CancellationRegistration {
    let tracked = tracker.track()
    return token.onCancel { _ in withExtendedLifetime(tracked) {} }
  }

  @Test func `A handler is retained until it has run`() {
    let token = CancellationToken()
    let registration = hold(token)
    #expect(tracker.alive == 1)
    token.cancel()
    #expect(tracker.alive == 0)
    withExtendedLifetime(registration) {}
  }

  @Test func `A handler is retained until it is removed`() {
    let token = CancellationToken()
    let registration = hold(token)
    registration.remove()
    #expect(tracker.alive == 0)
    #expect(token.handlerCount == 0)
    withExtendedLifetime(registration) {}
  }

  @Test func `A handler that is called immediately is not retained`() {
    let token = CancellationToken()
    token.cancel()
    let registration = hold(token)
    #expect(tracker.made == 1)
    #expect(tracker.alive == 0)
    withExtendedLifetime(registration) {}
  }

  @Test func `A handler is released with its token`() {
    do { _ = hold(CancellationToken()) }
    #expect(tracker.made == 1)
    #expect(tracker.alive == 0)
  }

  @Test func `A registration retains its token until it is removed`() throws {
    var token: CancellationToken? = CancellationToken()
    weak let watched = token
    let registration = try #require(token).onCancel { _ in }
    token = nil
    #expect(watched != nil)
    registration.remove()
    #expect(watched == nil)
    registration.remove()
  }

  @Test func `A handler that retains its token is released by the cancel`() throws {
    var token: CancellationToken? = CancellationToken()
    weak let watched = token
    try #require(token).onCancel { [token] _ in withExtendedLifetime(token) {} }
    token?.cancel()
    token = nil
    #expect(watched == nil)
  }

  /// A user's `deinit` may use the token: nothing that a handler holds is released inside a lock.
  @Test func `An object released by its removal may remove itself`() {
    let token = CancellationToken()
    let own = Once<CancellationRegistration>()
    do {
      let held = AtEnd { own.settled?.remove() }
      own.settle(token.onCancel { _ in withExtendedLifetime(held) {} })
    }
    own.settled?.remove()
    #expect(!token.isCancelled)
    #expect(token.handlerCount == 0)
  }

  @Test
  func `A wait for a token that is never cancelled leaves nothing behind`() async {
    let token = CancellationToken()
    for _ in 0..<100 {
      let waiter = Task { await token.waitForCancellation() }
      waiter.cancel()
      await waiter.value
    }
    #expect(token.handlerCount == 0)
  }

  @Test func `Finished bodies leave nothing behind`() async throws {
    let token = CancellationToken()
    for _ in 0..<100 {
      let tracked = tracker.track()
      try await withCancellation(by: token) { withExtendedLifetime(tracked) {} }
      _ = try? await withCancellation(by: token) { [tracked = tracker.track()] in
        withExtendedLifetime(tracked) {}
        throw Fault(1)
      }
    }
    #expect(token.handlerCount == 0)
    await tracker.allReleased()
    #expect(tracker.made == 200)
  }

  // G81
  @Test func `Finished runs under a token leave nothing behind`() async throws {
    let token = CancellationToken()
    for number in 0..<50 {
      let chain = Chain { [tracked = tracker.track()] (number: Int) in
        withExtendedLifetime(tracked) { number }
      }
      .then { number in if number.isMultiple(of: 2) { throw Fault(number) } }
      .finally { [tracked = tracker.track()] _ in withExtendedLifetime(tracked) {} }
      let run = try await withCancellation(by: token) {
        try? await chain.run(number)
        return chain.start(number)
      }
      _ = await run.outcome
    }
    #expect(tracker.made == 100)
    await tracker.allReleased()
    #expect(token.handlerCount == 0)
  }

  @Test func `A chain's token retains no chain`() async throws {
    var tokens: [CancellationToken] = []
    for number in 0..<50 {
      let chain = Chain { [tracked = tracker.track()] (number: Int) in withExtendedLifetime(tracked) { number } }
      tokens.append(chain.cancellationToken)
      #expect(try await chain.run(number) == number)
      _ = try await chain.start(number).value
    }
    #expect(tracker.made == 50)
    await tracker.allReleased()
    for token in tokens { token.cancel() }
  }

  /// What outlives everything else here is a token: nothing else does.
  @Test func `Runs that are cancelled while waiting retain nothing`() async {
    let token = CancellationToken()
    let waiting = Recorder<Int>()
    let runs = Recorder<Run<Int>>()
    _ = try? await withCancellation(by: token) { [tracker] in
      for number in 0..<50 {
        let chain = Chain { [tracked = tracker.track()] (number: Int) in
          try await withResolver { (resolver: Resolver<Int>) in
            resolver.onCancel { [tracked, resolver] _ in withExtendedLifetime((tracked, resolver)) {} }
            waiting.record(number)
          }
        }
        runs.record(chain.start(number))
      }
    }
    await waiting.elements(atLeast: 50)
    token.cancel(reason: "stop")
    for run in runs.elements { #expect(await run.outcome.cancellation?.reason == "stop") }
    #expect(token.handlerCount == 0)
  }
}

/// Runs code when it is released, as users' objects may.
