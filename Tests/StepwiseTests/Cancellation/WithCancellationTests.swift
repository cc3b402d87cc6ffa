// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct WithCancellationTests {
  @TaskLocal private static var local = 0

  private let token = CancellationToken()

  // MARK: - Outcomes

  @Test func theBodysValueIsReturned() async throws {
    #expect(try await withCancellation(by: token) { 7 } == 7)
  }

  @Test func theBodysErrorIsThrown() async {
    await #expect(throws: Fault(7)) { try await withCancellation(by: token) { throw Fault(7) } }
  }

  // G77
  /// A cancel does not destroy the value.
  @Test func aCancelledBodysValueIsStillReturned() async throws {
    let value = try await withCancellation(by: token) { [token] in
      token.cancel()
      #expect(Task.isCancelled)
      return 7
    }
    #expect(value == 7)
  }

  @Test func aCancelledBodysOwnErrorIsThrown() async {
    await #expect(throws: Fault(7)) {
      try await withCancellation(by: token) { [token] in
        token.cancel()
        throw Fault(7)
      }
    }
  }

  @Test func theTokenInterruptsTheBody() async {
    let log = Recorder<String>()
    let task = Task { [token] in
      try await withCancellation(by: token) {
        log.record("waits")
        try await ManualClock().sleep(for: .seconds(1))
      }
    }
    await log.elements(atLeast: 1)
    token.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("Cancelling the calling task interrupts the body, not the token")
  func theCallingTaskInterruptsTheBodyAndLeavesTheTokenAlone() async {
    let log = Recorder<String>()
    let task = Task { [token] in
      try await withCancellation(by: token) {
        log.record("waits")
        try await ManualClock().sleep(for: .seconds(1))
      }
    }
    await log.elements(atLeast: 1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(!token.isCancelled)
  }

  // MARK: - Cancelled before

  /// What happens when it was cancelled before is decided: the body runs, in a cancelled Task.
  @Test("With a cancelled token the body runs in a cancelled task")
  func withATokenCancelledBeforeTheBodyRunsInACancelledTask() async throws {
    token.cancel(reason: "before")
    for _ in 0..<1_000 {
      let isCancelled = try await withCancellation(by: token) { Task.isCancelled }
      #expect(isCancelled)
    }
  }

  @Test func inACancelledTaskTheBodyRunsInACancelledTask() async throws {
    let task = Task { [token] in
      withUnsafeCurrentTask { $0?.cancel() }
      var all = true
      for _ in 0..<1_000 where try await !withCancellation(by: token, { Task.isCancelled }) { all = false }
      return all
    }
    #expect(try await task.value)
    #expect(!token.isCancelled)
  }

  // MARK: - Afterwards

  @Test func theCallingTaskIsNotCancelledByTheToken() async throws {
    try await withCancellation(by: token) { [token] in
      token.cancel()
      #expect(Task.isCancelled)
    }
    #expect(!Task.isCancelled)
  }

  @Test func aTokenCancelledAfterwardsReachesNothing() async throws {
    let log = Recorder<String>()
    let left = try await withCancellation(by: token) {
      Task {
        log.record("begins")
        await log.elements(atLeast: 2)
        return Task.isCancelled
      }
    }
    await log.elements(atLeast: 1)
    token.cancel()
    log.record("cancelled")
    #expect(await left.value == false)
  }

  // MARK: - Several

  @Test(arguments: [0, 1])
  func eitherOfTwoTokensInterruptsTheBody(which: Int) async throws {
    let tokens = [CancellationToken(), CancellationToken()]
    let isCancelled = try await withCancellation(by: tokens[0]) {
      try await withCancellation(by: tokens[1]) {
        tokens[which].cancel()
        return Task.isCancelled
      }
    }
    #expect(isCancelled)
    #expect(!tokens[1 - which].isCancelled)
  }

  @Test func theInnerTokenLeavesTheOuterBodyAlone() async throws {
    let inner = CancellationToken()
    try await withCancellation(by: token) {
      _ = try await withCancellation(by: inner) { inner.cancel() }
      #expect(!Task.isCancelled)
    }
  }

  @Test func oneTokenInterruptsManyBodies() async {
    let waiting = Recorder<Int>()
    let bodies = (0..<100).map { number in
      Task { [token] in
        try await withCancellation(by: token) {
          waiting.record(number)
          try await ManualClock().sleep(for: .seconds(1))
        }
      }
    }
    await waiting.elements(atLeast: 100)
    token.cancel()
    for body in bodies { await #expect(throws: CancellationError.self) { try await body.value } }
  }

  @Test func theSameTokenTwiceIsOnce() async throws {
    let isCancelled = try await withCancellation(by: token) { [token] in
      try await withCancellation(by: token) {
        token.cancel()
        return Task.isCancelled
      }
    }
    #expect(isCancelled)
  }

  // MARK: - What the body keeps

  @Test func theBodyKeepsTaskLocalsAndPriority() async throws {
    try await Self.$local.withValue(7) {
      let task = Task(priority: .utility) { [token] in
        try await withCancellation(by: token) { (Self.local, Task.currentPriority >= .utility) }
      }
      let (local, hasPriority) = try await task.value
      #expect(local == 7)
      #expect(hasPriority)
    }
  }

  @Test func childTasksOfTheBodyAreCancelled() async throws {
    let cancelled = try await withCancellation(by: token) { [token] in
      async let child = {
        await token.cancellation
        // The token may cancel the body after those who wait for it.
        while !Task.isCancelled { await Task.yield() }
        return true
      }()
      token.cancel()
      return await child
    }
    #expect(cancelled)
  }
}
