// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// What handlers of a token may do, and what removing them does.
@Suite(.timeLimit(.minutes(5)))
struct CancellationHandlerTests {
  // MARK: - Outside the lock

  // G73
  /// A token's handlers run outside its lock.
  @Test func `A handler may use its token`() {
    let token = CancellationToken()
    let calls = Recorder<String>()
    token.onCancel { reason in
      calls.record("handler \(reason ?? "-") \(token.isCancelled) \(token.reason ?? "-")")
      calls.record("cancels \(token.cancel(reason: "mine"))")
      token.onCancel { reason in calls.record("inner \(reason ?? "-")") }
      _ = CancellationToken(linkedTo: token)
      calls.record("after")
    }
    #expect(token.cancel(reason: "stop"))
    #expect(calls.elements == ["handler stop true stop", "cancels false", "inner stop", "after"])
  }

  @Test func `A token that its own handler cancels is unchanged`() {
    let token = CancellationToken()
    let calls = Recorder<Int>()
    for number in 0..<3 {
      token.onCancel { _ in
        calls.record(number)
        #expect(!token.cancel(reason: "again"))
      }
    }
    #expect(token.cancel(reason: "first"))
    #expect(calls.elements == [0, 1, 2])
    #expect(token.reason == "first")
  }

  @Test func `Handlers that cancel each other's tokens end`() {
    let (left, right) = (CancellationToken(), CancellationToken())
    let calls = Recorder<String>()
    left.onCancel { _ in calls.record("left, right is cancelled here: \(right.cancel(reason: "from left"))") }
    right.onCancel { _ in calls.record("right, left is cancelled here: \(left.cancel(reason: "from right"))") }
    left.cancel(reason: "start")
    #expect(
      calls.elements == ["right, left is cancelled here: false", "left, right is cancelled here: true"]
    )
    #expect(left.reason == "start")
    #expect(right.reason == "from left")
  }

  @Test func `Handlers run on the thread that cancels`() async {
    let token = CancellationToken()
    let threads = Recorder<UInt>()
    token.onCancel { _ in threads.record(Platform.currentThread) }
    let canceller = await onForeignThread {
      token.cancel()
      return Platform.currentThread
    }
    #expect(threads.elements == [canceller])
  }

  // MARK: - Registrations

  // G74
  @Test func `A removed handler is not called`() {
    let token = CancellationToken()
    let calls = Recorder<Int>()
    let registrations = (0..<4).map { number in token.onCancel { _ in calls.record(number) } }
    registrations[1].remove()
    registrations[3].remove()
    registrations[3].remove()
    token.cancel()
    #expect(calls.elements == [0, 2])
  }

  // G75
  @Test func `Releasing the registration changes nothing`() {
    let token = CancellationToken()
    let calls = Recorder<String?>()
    _ = token.onCancel { calls.record($0) }
    do {
      let registration = token.onCancel { calls.record($0) }
      withExtendedLifetime(registration) {}
    }
    token.cancel(reason: "stop")
    #expect(calls.elements == ["stop", "stop"])
  }

  @Test func `Removing after the handler ran does nothing`() {
    let token = CancellationToken()
    let calls = Recorder<Int>()
    let before = token.onCancel { _ in calls.record(0) }
    token.cancel()
    let after = token.onCancel { _ in calls.record(1) }
    before.remove()
    after.remove()
    #expect(calls.elements == [0, 1])
  }

  @Test func `Removing a stale registration leaves the others`() {
    let token = CancellationToken()
    let calls = Recorder<Int>()
    let stale = token.onCancel { _ in calls.record(0) }
    stale.remove()
    token.onCancel { _ in calls.record(1) }
    stale.remove()
    token.cancel()
    #expect(calls.elements == [1])
  }

  @Test func `A handler may remove a later one`() throws {
    let token = CancellationToken()
    let calls = Recorder<String>()
    let later = Once<CancellationRegistration>()
    token.onCancel { _ in
      later.settled?.remove()
      calls.record("first")
    }
    later.settle(token.onCancel { _ in calls.record("second") })
    token.onCancel { _ in calls.record("third") }
    token.cancel()
    #expect(calls.elements == ["first", "third"])
  }

  // MARK: - What a removal returns

  // G74
  @Test
  func `Removing a handler returns true unless it was called`() {
    let (token, calls) = (CancellationToken(), Recorder<Int>())
    let removed = token.onCancel { _ in calls.record(0) }
    let called = token.onCancel { _ in calls.record(1) }
    #expect(removed.remove() && removed.remove())
    token.cancel()
    #expect(!called.remove() && !called.remove() && removed.remove())
    #expect(!token.onCancel { _ in calls.record(2) }.remove())
    #expect(calls.elements == [1, 2])
  }

  // G74
  @Test
  func `A removal does not wait for a handler that runs on another thread`() async {
    let (token, log, isEnding) = (CancellationToken(), Recorder<String>(), Latch())
    let registration = token.onCancel { _ in
      log.record("handler begins")
      isEnding.wait()
      log.record("handler ends")
    }
    async let cancelled = onForeignThread { token.cancel() }
    await log.elements(atLeast: 1)
    #expect(await onForeignThread { registration.remove() } == false)
    log.record("removed")
    isEnding.open()
    #expect(await cancelled)
    #expect(log.elements == ["handler begins", "removed", "handler ends"])
  }

  @Test
  func `A handler that removes itself learns that it was called`() {
    let (token, log, own) = (CancellationToken(), Recorder<Bool>(), Once<CancellationRegistration>())
    own.settle(token.onCancel { _ in log.record(own.settled?.remove() ?? true) })
    token.cancel()
    #expect(log.elements == [false])
  }
}
