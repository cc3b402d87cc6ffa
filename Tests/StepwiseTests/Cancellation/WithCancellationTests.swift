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

  @Test func `The body's value is returned`() async throws {
    #expect(try await withCancellation(by: token) { 7 } == 7)
  }

  @Test func `The body's error is thrown`() async {
    await #expect(throws: Fault(7)) { try await withCancellation(by: token) { throw Fault(7) } }
  }

  // G77
  /// A cancel does not destroy the value.
  @Test func `A cancelled body's value is still returned`() async throws {
    let value = try await withCancellation(by: token) { [token] in
      token.cancel()
      #expect(Task.isCancelled)
      return 7
    }
    #expect(value == 7)
  }

  @Test func `A cancelled body's own error is thrown`() async {
    await #expect(throws: Fault(7)) {
      try await withCancellation(by: token) { [token] in
        token.cancel()
        throw Fault(7)
      }
    }
  }

  @Test func `The token interrupts the body`() async {
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

  @Test
  func `Cancelling the calling task interrupts the body, not the token`() async {
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
  @Test
  func `With a cancelled token the body runs in a cancelled task`() async throws {
    token.cancel(reason: "before")
    for _ in 0..<1_000 {
      let isCancelled = try await withCancellation(by: token) { Task.isCancelled }
      #expect(isCancelled)
    }
  }

  @Test func `In a cancelled task the body runs in a cancelled task`() async throws {
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

  @Test func `The calling task is not cancelled by the token`() async throws {
    try await withCancellation(by: token) { [token] in
      token.cancel()
      #expect(Task.isCancelled)
    }
    #expect(!Task.isCancelled)
  }

  @Test func `A token that is cancelled afterwards has no effect`() async throws {
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
  func `Either of two tokens interrupts the body`(which: Int) async throws {
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

  @Test func `The inner token leaves the outer body alone`() async throws {
    let inner = CancellationToken()
    try await withCancellation(by: token) {
      _ = try await withCancellation(by: inner) { inner.cancel() }
      #expect(!Task.isCancelled)
    }
  }

  @Test func `One token interrupts many bodies`() async {
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

  @Test func `The same token twice counts once`() async throws {
    let isCancelled = try await withCancellation(by: token) { [token] in
      try await withCancellation(by: token) {
        token.cancel()
        return Task.isCancelled
      }
    }
    #expect(isCancelled)
  }

  // MARK: - What the body keeps

  @Test func `The body keeps task-local values and priority`() async throws {
    try await Self.$local.withValue(7) {
      let task = Task(priority: .utility) { [token] in
        try await withCancellation(by: token) { (Self.local, Task.currentPriority >= .utility) }
      }
      let (local, hasPriority) = try await task.value
      #expect(local == 7)
      #expect(hasPriority)
    }
  }

  @Test func `Child tasks of the body are cancelled`() async throws {
    let cancelled = try await withCancellation(by: token) { [token] in
      async let child = {
        await token.waitForCancellation()
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
