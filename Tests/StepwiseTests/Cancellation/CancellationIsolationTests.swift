// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Bodies run in the caller's isolation and may capture, and change, what is not Sendable; under a token they obey the
/// rules of `Task { }`.
@Suite(.timeLimit(.minutes(5)))
struct CancellationIsolationTests {
  // MARK: - Plain async code

  @Test func `In plain async code, the body may capture anything`() async throws {
    let lineLog = LineLog()
    var count = 0
    await withCancellationToken { token in
      lineLog.write("token \(token.isCancelled)")
      await Task.yield()
      count += 1
    }
    #expect(count == 1)
    #expect(lineLog.lines == ["token false"])
  }

  /// A result that is not Sendable stays with the Task of `withCancellationToken`.
  @Test func `withCancellationToken may return a value that is not Sendable`() async {
    let lineLog = await withCancellationToken { _ in
      let lineLog = LineLog()
      lineLog.write("inside")
      return lineLog
    }
    lineLog.write("outside")
    #expect(lineLog.lines == ["inside", "outside"])
  }

  // MARK: - A class on the main actor

  @MainActor
  private final class Screen {
    let lineLog = LineLog()
    var count = 0

    func load(by token: CancellationToken) async throws -> Int {
      var local = 0
      let value = try await withCancellation(by: token) { [self] in
        MainActor.assertIsolated()
        lineLog.write("cancellation")
        await Task.yield()
        MainActor.assertIsolated()
        count += 1
        local += 1
        return count
      }
      MainActor.assertIsolated()
      await withCancellationToken { token in
        MainActor.assertIsolated()
        lineLog.write("token \(token.isCancelled)")
        await Task.yield()
        MainActor.assertIsolated()
        count += 1
        local += 1
      }
      MainActor.assertIsolated()
      return value + local * 10
    }

    var lines: [String] { lineLog.lines }

    func fail(by token: CancellationToken) async throws {
      try await withCancellation(by: token) { [self] in
        MainActor.assertIsolated()
        count = -1
        throw Fault(count)
      }
    }
  }

  // G77
  @Test func `On the main actor, the body runs there`() async throws {
    let screen = await Screen()
    #expect(try await screen.load(by: CancellationToken()) == 21)
    await #expect(throws: Fault(-1)) { try await screen.fail(by: CancellationToken()) }
    #expect(await screen.count == -1)
    #expect(await screen.lines == ["cancellation", "token false"])
  }

  /// The wait does not hold the main actor: what the body waits for may happen there.
  @Test @MainActor func `The main actor is free while the body waits`() async throws {
    let log = Recorder<String>()
    Task { @MainActor in
      await log.elements(atLeast: 1)
      log.record("meanwhile")
    }
    try await withCancellation(by: CancellationToken()) {
      log.record("waits")
      await log.elements(atLeast: 2)
    }
    #expect(log.elements == ["waits", "meanwhile"])
  }

  @Test @MainActor func `On the main actor, a cancelled body runs there, too`() async throws {
    let token = CancellationToken()
    token.cancel()
    var isCancelled = false
    try await withCancellation(by: token) {
      MainActor.assertIsolated()
      isCancelled = Task.isCancelled
    }
    #expect(isCancelled)
  }

  // MARK: - An actor

  private actor Account {
    let lineLog = LineLog()
    var balance = 0

    func deposit(by token: CancellationToken) async throws -> Int {
      let value = try await withCancellation(by: token) {
        self.assertIsolated()
        self.lineLog.write("cancellation")
        await Task.yield()
        self.assertIsolated()
        self.balance += 1
        return self.balance
      }
      assertIsolated()
      try await withCancellationToken { token in
        assertIsolated()
        try token.checkCancellation()
        lineLog.write("token")
        await Task.yield()
        assertIsolated()
        balance += 1
      }
      assertIsolated()
      return value
    }

    /// A body that touches the actor's state may not touch non-Sendable locals too: so the compiler has it, for every
    /// function that takes a closure, the standard library's among them.
    func locals() async -> ([String], Int) {
      let local = LineLog()
      var count = 0
      await withCancellationToken { _ in
        local.write("token")
        count += 1
      }
      return (local.lines, count)
    }

    var lines: [String] { lineLog.lines }

    private func addOne() { balance += 1 }

    /// Nested, and called by a function that inherits its caller's isolation.
    func nested(by token: CancellationToken) async throws {
      try await withCancellation(by: token) { [self] in
        try await withCancellationToken { inner in
          try await inherited(by: inner) { [self] in await addOne() }
        }
      }
    }
  }

  @Test func `In an actor, the body runs there`() async throws {
    let account = Account()
    #expect(try await account.deposit(by: CancellationToken()) == 1)
    try await account.nested(by: CancellationToken())
    #expect(await account.balance == 3)
    #expect(await account.lines == ["cancellation", "token"])
    let (lines, count) = await account.locals()
    #expect(lines == ["token"])
    #expect(count == 1)
  }

  // MARK: - Handlers

  /// Handlers are synchronous and `@Sendable`: they reach an actor's state by asking it.
  @Test @MainActor
  func `A handler made on the main actor runs wherever the token is cancelled`() async {
    let token = CancellationToken()
    let log = Recorder<String>()
    token.onCancel { reason in
      log.record("handler \(reason ?? "-")")
      Task { @MainActor in log.record("main") }
    }
    _ = await onForeignThread { token.cancel(reason: "stop") }
    #expect(await log.elements(atLeast: 2) == ["handler stop", "main"])
  }
}

private func inherited(
  by token: CancellationToken,
  isolation: isolated (any Actor)? = #isolation,
  _ body: @escaping @Sendable @isolated(any) () async throws -> Void
) async throws {
  try await withCancellation(by: token, body)
}
