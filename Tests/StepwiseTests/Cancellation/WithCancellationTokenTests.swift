// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct WithCancellationTokenTests {
  @Test func `The body's value is returned`() async {
    let value = await withCancellationToken { token in token.isCancelled ? 0 : 7 }
    #expect(value == 7)
  }

  @Test func `The body's error is thrown`() async {
    await #expect(throws: Fault(7)) { try await withCancellationToken { _ in throw Fault(7) } }
  }

  // G78
  @Test func `The token is cancelled with the task`() async {
    let log = Recorder<String>()
    let task = Task {
      await withCancellationToken { token in
        token.onCancel { reason in log.record("handler \(reason ?? "-")") }
        log.record("waits")
        await token.waitForCancellation()
        return token.isCancelled
      }
    }
    await log.elements(atLeast: 1)
    task.cancel()
    #expect(await task.value)
    #expect(log.elements == ["waits", "handler -"])
  }

  /// The handlers have returned when the Task's `cancel` has.
  @Test func `Legacy code on another thread is notified immediately`() async {
    let tokens = Recorder<CancellationToken>()
    let latch = Recorder<Int>()
    let task = Task {
      await withCancellationToken { token in
        tokens.record(token)
        await latch.elements(atLeast: 1)
      }
    }
    let token = await tokens.elements(atLeast: 1)[0]
    task.cancel()
    #expect(token.isCancelled)
    latch.record(1)
    await task.value
  }

  @Test func `In a cancelled task the token is cancelled from the start`() async {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await withCancellationToken { $0.isCancelled }
    }
    #expect(await task.value)
  }

  // G78
  @Test func `A token that outlives its body is not cancelled`() async {
    let task = Task {
      let token = await withCancellationToken { $0 }
      withUnsafeCurrentTask { $0?.cancel() }
      return token
    }
    #expect(await task.value.isCancelled == false)
  }

  @Test func `Cancelling the token leaves the task alone`() async {
    let isCancelled = await withCancellationToken { token in
      token.cancel(reason: "legacy")
      return Task.isCancelled
    }
    #expect(!isCancelled)
  }

  // MARK: - Reasons

  @Test func `The reason of an outer token is known`() async throws {
    let outer = CancellationToken()
    let reason = try await withCancellation(by: outer) {
      await withCancellationToken { token in
        outer.cancel(reason: "stop")
        return token.reason
      }
    }
    #expect(reason == "stop")
  }

  @Test func `The reason of the surrounding run is known`() async {
    let log = Recorder<String?>()
    let entered = Recorder<Int>()
    let run = Chain {
      try await withCancellationToken { token in
        entered.record(1)
        await token.waitForCancellation()
        log.record(token.reason)
        try token.checkCancellation()
      }
    }.start()
    await entered.elements(atLeast: 1)
    run.cancel(reason: "left the screen")
    #expect(await run.outcome.cancellation?.reason == "left the screen")
    #expect(log.elements == ["left the screen"])
  }
}
