// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import LegacyStepwise
import StepwiseTesting
import Testing

/// Where the original had a defect, and the new behaviour holds.
@Suite(.timeLimit(.minutes(5)))
struct StepwiseDefectTests {
  let seen = Recorder<String>()

  // The original ran the rest of the chain twice.
  @available(*, deprecated)
  @Test func `A handler called twice runs the next step once`() async {
    toStep { (text: String, handler: Handler<String>) in
      handler.pass(text + " first")
      handler.pass(text + " second")
      handler.fail(Fault("third"))
    }.then { text in
      seen.record(text)
    }.onError { error in
      seen.record("\(error)")
    }.finally { _ in
      seen.record("end")
    }.start("the")

    #expect(await seen.elements(atLeast: 2) == ["the first", "end"])
  }

  @available(*, deprecated)
  @Test func `A step resolved twice runs the next step once`() async {
    toStep { (step: Step<Int, Int>) in
      step.resolve(1)
      step.error(Fault("late"))
      step.resolve(2)
    }.then { (step: Step<Int, Void>) in
      seen.record("\(step.input)")
      step.resolve()
    }.finally { _ in
      seen.record("end")
    }.start(0)

    #expect(await seen.elements(atLeast: 2) == ["1", "end"])
  }

  // The original hung for ever, and skipped `finally`.
  @available(*, deprecated)
  @Test func `A handler that is never called ends the chain`() async {
    toStep { (text: String, handler: Handler<String>) in
    }.then { text in
      seen.record(text)
    }.onError { error in
      seen.record("\(error)".contains("was released without being resolved") ? "released" : "\(error)")
    }.finally { state in
      seen.record("errored: \(state.errored)")
    }.start("text")

    #expect(await seen.elements(atLeast: 2) == ["released", "errored: true"])
  }

  @available(*, deprecated)
  @Test func `A step that never ends ends the chain`() async {
    toStep { (step: Step<Void, Int>) in
    }.finally { state in
      seen.record("errored: \(state.errored)")
    }.start()

    #expect(await seen.elements(atLeast: 1) == ["errored: true"])
  }

  // The original hung forever.
  @available(*, deprecated)
  @Test
  func `A handler that is released after a cancel ends the chain as cancelled`() async {
    final class Callback {
      var handler: Handler<Int>?
    }
    let (callback, begun) = (Callback(), Recorder<Bool>())
    let chain = toStep(inQueue: .main) { (_: Int, handler: Handler<Int>) in
      callback.handler = handler
      begun.record(true)
    }
    .finally { state in
      if case .Canceled(let token) = state { seen.record(token.reason ?? "no reason") }
    }
    chain.start(1)
    await begun.elements(atLeast: 1)
    chain.cancellationToken.cancel(reason: "enough")
    DispatchQueue.main.async {
      seen.record("released")
      callback.handler = nil
    }

    #expect(await seen.elements(atLeast: 2) == ["released", "enough"])
  }

  // A closure that is still at work is waited for: `finally` may close what it works on.
  @available(*, deprecated)
  @Test func `A cancel waits for the running closure`() async {
    let (begun, released) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let chain = toStep { (step: Step<Void, Int>) in
      begun.signal()
      released.wait()
      seen.record("closure")
    }.then { (_: Int) in
      seen.record("next")
    }.onError { _ in
      seen.record("error")
    }.finally { state in
      seen.record("canceled: \(state.canceled)")
    }
    chain.start()
    await wait(for: begun)
    chain.cancellationToken.cancel()
    released.signal()

    #expect(await seen.elements(atLeast: 2) == ["closure", "canceled: true"])
  }

  // In the original both could be told so.
  @available(*, deprecated)
  @Test func `One of many cancels returns true`() async {
    for _ in 0..<200 {
      let token = toStep { 1 }.cancellationToken
      let count = await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<4 { group.addTask { token.cancel() } }
        return await group.reduce(0) { $1 ? $0 + 1 : $0 }
      }
      #expect(count == 1)
    }
  }

  // A step in a queue that is busy looks at the token when its turn has come.
  @available(*, deprecated)
  @Test func `A step that waits for its queue does not begin after a cancel`() async {
    let queue = DispatchQueue(label: "busy")
    queue.suspend()
    let chain = toStep(inQueue: queue) { seen.record("executed") }
      .finally { state in seen.record("canceled: \(state.canceled)") }
    chain.start()
    chain.cancellationToken.cancel()
    queue.resume()

    #expect(await seen.elements(atLeast: 1) == ["canceled: true"])
  }

  /// Reads the log's output when it is released, as an object of a user's might.
  private final class Reader: Sendable {
    deinit { _ = DebugLog.output }
  }

  // The log would end the process: its lock would be taken twice.
  @Test
  func `A replaced output of the debug log is released outside the lock`() async {
    await #expect(processExitsWith: .success) {
      DebugLog.output = { [reader = Reader()] _ in withExtendedLifetime(reader) {} }
      DebugLog.output = { _ in }
    }
  }
}

/// Waits for a semaphore without blocking a thread of the pool.
private func wait(for semaphore: DispatchSemaphore) async {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread {
      semaphore.wait()
      continuation.resume()
    }
  }
}
