// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// What handlers of a token may do, and what removing them does.
@Suite(.timeLimit(.minutes(5)))
struct CancellationHandlerTests {
  // MARK: - Outside the lock

  // G57
  /// A token's handlers run outside its lock.
  @Test func aHandlerMayUseItsToken() {
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

  @Test func aTokenCancelledFromItsOwnHandlerStaysAsItWas() {
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

  @Test func handlersThatCancelEachOthersTokensEnd() {
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

  @Test func handlersRunOnTheThreadThatCancels() async {
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

  // G58
  @Test func aRemovedHandlerIsNotCalled() {
    let token = CancellationToken()
    let calls = Recorder<Int>()
    let registrations = (0..<4).map { number in token.onCancel { _ in calls.record(number) } }
    registrations[1].remove()
    registrations[3].remove()
    registrations[3].remove()
    token.cancel()
    #expect(calls.elements == [0, 2])
  }

  // G115
  @Test func lettingTheRegistrationGoChangesNothing() {
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

  @Test func removingAfterTheHandlerRanDoesNothing() {
    let token = CancellationToken()
    let calls = Recorder<Int>()
    let before = token.onCancel { _ in calls.record(0) }
    token.cancel()
    let after = token.onCancel { _ in calls.record(1) }
    before.remove()
    after.remove()
    #expect(calls.elements == [0, 1])
  }

  @Test func removingAStaleRegistrationLeavesTheOthers() {
    let token = CancellationToken()
    let calls = Recorder<Int>()
    let stale = token.onCancel { _ in calls.record(0) }
    stale.remove()
    token.onCancel { _ in calls.record(1) }
    stale.remove()
    token.cancel()
    #expect(calls.elements == [1])
  }

  @Test func aHandlerMayRemoveALaterOne() throws {
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

  // MARK: - A handler that runs

  // G58
  @Test func removeWaitsForAHandlerThatRunsOnAnotherThread() async {
    let token = CancellationToken()
    let log = Recorder<String>()
    let removal = Flag()
    let registration = token.onCancel { _ in
      log.record("handler begins")
      while !removal.isRaised { yieldThread() }
      // Time enough for a removal that does not wait.
      for _ in 0..<20_000 { yieldThread() }
      log.record("handler ends")
    }
    async let cancelled = onForeignThread { token.cancel() }
    await log.elements(atLeast: 1)
    await onForeignThread {
      removal.raise()
      registration.remove()
      log.record("removed")
    }
    #expect(await cancelled)
    #expect(log.elements == ["handler begins", "handler ends", "removed"])
  }

  @Test func removeWaitsOnEachOfSeveralThreads() async {
    let token = CancellationToken()
    let log = Recorder<String>()
    let isEnding = Latch()
    let registration = token.onCancel { _ in
      log.record("handler begins")
      isEnding.wait()
      // Time enough for removals that do not wait.
      for _ in 0..<2_000 { yieldThread() }
      log.record("handler ends")
    }
    async let cancelled = onForeignThread { token.cancel() }
    await log.elements(atLeast: 1)
    let removals = Recorder<Int>()
    await withTaskGroup { group in
      for number in 0..<3 {
        group.addTask {
          await onForeignThread {
            removals.record(number)
            registration.remove()
            log.record("removed")
          }
        }
      }
      await removals.elements(atLeast: 3)
      isEnding.open()
    }
    #expect(await cancelled)
    #expect(log.elements == ["handler begins", "handler ends", "removed", "removed", "removed"])
  }

  @Test func removeReturnsWhenWhatTheHandlerCapturedIsReleased() async {
    let (token, log, isEnding) = (CancellationToken(), Recorder<String>(), Latch())
    let registration = Self.register(token, log, isEnding)
    async let cancelled = onForeignThread { token.cancel() }
    await log.elements(atLeast: 1)
    let removal = Recorder<Int>()
    async let removed: Void = onForeignThread {
      removal.record(1)
      registration.remove()
      log.record("removed")
    }
    await removal.elements(atLeast: 1)
    isEnding.open()
    await removed
    #expect(await cancelled)
    await log.elements(atLeast: 3)
    #expect(log.elements == ["handler begins", "released", "removed"])
  }

  /// Registers a handler that alone retains an object, whose release takes some time.
  private static func register(
    _ token: CancellationToken,
    _ log: Recorder<String>,
    _ isEnding: Latch
  ) -> CancellationRegistration {
    let object = AtEnd {
      for _ in 0..<2_000 { yieldThread() }
      log.record("released")
    }
    return token.onCancel { _ in
      withExtendedLifetime(object) {
        log.record("handler begins")
        isEnding.wait()
        // Time enough for the removal to wait.
        for _ in 0..<2_000 { yieldThread() }
      }
    }
  }

  @Test func removeWaitsAlsoForAHandlerCalledAtOnceByOnCancel() async {
    let token = CancellationToken()
    token.cancel()
    let ends = Recorder<Int>()
    let registration = await onForeignThread { token.onCancel { _ in ends.record(1) } }
    registration.remove()
    #expect(ends.elements == [1])
  }

  @Test func removeDoesNotWaitInTheHandlerItself() {
    let token = CancellationToken()
    let log = Recorder<String>()
    let own = Once<CancellationRegistration>()
    own.settle(
      token.onCancel { _ in
        own.settled?.remove()
        log.record("handler continues")
      }
    )
    token.cancel()
    #expect(log.elements == ["handler continues"])
  }

  /// The handler cancels a child token, whose handler removes the one that is running: the same thread, so no wait.
  @Test func removeDoesNotWaitInAHandlerCalledByTheHandler() {
    let (parent, child) = (CancellationToken(), CancellationToken())
    let log = Recorder<String>()
    let outer = Once<CancellationRegistration>()
    outer.settle(
      parent.onCancel { reason in
        child.cancel(reason: reason)
        log.record("outer ends")
      }
    )
    child.onCancel { reason in
      outer.settled?.remove()
      log.record("inner \(reason ?? "-")")
    }
    parent.cancel(reason: "stop")
    #expect(log.elements == ["inner stop", "outer ends"])
  }

  /// Removing a handler that has not begun does not wait for another that runs.
  @Test func removeDoesNotWaitForOtherHandlers() async {
    let token = CancellationToken()
    let log = Recorder<String>()
    let latch = Latch()
    token.onCancel { _ in
      log.record("first begins")
      latch.wait()
      log.record("first ends")
    }
    let second = token.onCancel { _ in log.record("second") }
    async let cancelled = onForeignThread { token.cancel() }
    await log.elements(atLeast: 1)
    await onForeignThread { second.remove() }
    log.record("removed")
    latch.open()
    #expect(await cancelled)
    #expect(log.elements == ["first begins", "removed", "first ends"])
  }
}
