// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CancellationTokenTests {
  // G72
  @Test func `cancel returns true only the first time`() {
    let token = CancellationToken()
    #expect(!token.isCancelled)
    #expect(token.reason == nil)
    #expect(token.cancel(reason: "first"))
    #expect(!token.cancel(reason: "second"))
    #expect(!token.cancel())
  }

  // G72
  @Test func `cancel is irreversible and keeps the first reason`() {
    let token = CancellationToken()
    token.cancel(reason: "first")
    token.cancel(reason: "second")
    #expect(token.isCancelled)
    #expect(token.reason == "first")
  }

  @Test func `A cancel without reason has none`() {
    let token = CancellationToken()
    let reasons = Recorder<String?>()
    token.onCancel { reasons.record($0) }
    #expect(token.cancel())
    token.cancel(reason: "too late")
    #expect(token.isCancelled)
    #expect(token.reason == nil)
    #expect(reasons.elements == [nil])
  }

  @Test func `checkCancellation throws once the token is cancelled`() throws {
    let token = CancellationToken()
    try token.checkCancellation()
    token.cancel(reason: "stop")
    #expect(throws: CancellationError.self) { try token.checkCancellation() }
    #expect(throws: CancellationError.self) { try token.checkCancellation() }
  }

  // G73
  @Test func `Handlers receive the reason once and in order`() {
    let token = CancellationToken()
    let calls = Recorder<String>()
    for number in 0..<5 { token.onCancel { reason in calls.record("\(number) \(reason ?? "-")") } }
    #expect(calls.elements.isEmpty)
    token.cancel(reason: "stop")
    token.cancel(reason: "again")
    #expect(calls.elements == ["0 stop", "1 stop", "2 stop", "3 stop", "4 stop"])
  }

  // G73
  /// A token's handlers run exactly once, also when registered after the cancel.
  @Test func `A handler of a cancelled token is called immediately and once`() {
    let token = CancellationToken()
    token.cancel(reason: "before")
    let calls = Recorder<String?>()
    token.onCancel { calls.record($0) }
    #expect(calls.elements == ["before"])
    token.cancel(reason: "again")
    #expect(calls.elements == ["before"])
  }

  @Test func `The token is cancelled before its handlers are called`() {
    let token = CancellationToken()
    let seen = Recorder<Bool>()
    token.onCancel { _ in seen.record(token.isCancelled && token.reason == "stop") }
    token.cancel(reason: "stop")
    #expect(seen.elements == [true])
  }

  // MARK: - Waiting

  @Test func `cancellation() returns immediately if the token is cancelled`() async {
    let token = CancellationToken()
    token.cancel()
    let _: Void = await token.waitForCancellation()
  }

  // G79
  @Test func `cancellation() returns when the token is cancelled`() async {
    let token = CancellationToken()
    let log = Recorder<String>()
    let waiters = (0..<10).map { _ in
      Task {
        log.record("waits")
        await token.waitForCancellation()
        log.record("called \(token.isCancelled) \(Task.isCancelled)")
      }
    }
    await log.elements(atLeast: 10)
    #expect(log.elements == Array(repeating: "waits", count: 10))
    token.cancel()
    for waiter in waiters { await waiter.value }
    #expect(log.elements.suffix(10) == Array(repeating: "called true false", count: 10))
  }

  // G79
  @Test
  func `Cancelling a task that waits for a token ends the wait only`() async {
    let token = CancellationToken()
    let other = Task { await token.waitForCancellation() }
    let waiter = Task { await token.waitForCancellation() }
    waiter.cancel()
    await waiter.value
    #expect(!token.isCancelled)
    token.cancel()
    await other.value
  }

  @Test func `cancellation() returns immediately in a cancelled task`() async {
    let token = CancellationToken()
    let waiter = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await token.waitForCancellation()
      return token.isCancelled
    }
    #expect(await waiter.value == false)
  }
}
