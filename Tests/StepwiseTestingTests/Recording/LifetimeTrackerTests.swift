// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LifetimeTrackerTests {
  private func holding(_ token: LifetimeTracker.Tracked) -> @Sendable () -> Void {
    { withExtendedLifetime(token) {} }
  }

  @Test func `Objects held by closures are counted`() async {
    let tracker = LifetimeTracker()
    await tracker.allReleased()
    var closures = (0..<3).map { _ in holding(tracker.track()) }
    #expect(tracker.made == 3)
    #expect(tracker.alive == 3)
    closures.removeLast()
    #expect(tracker.alive == 2)
    closures.removeAll()
    #expect(tracker.alive == 0)
    #expect(tracker.made == 3)
    await tracker.allReleased()
  }

  @Test func `An object may outlive its tracker`() {
    var token: LifetimeTracker.Tracked? = LifetimeTracker().track()
    #expect(token != nil)
    token = nil
  }

  @Test func `A tracker waits until all objects are released`() async {
    let tracker = LifetimeTracker()
    let (gate, continuation) = AsyncStream.makeStream(of: Void.self)
    let holders = (0..<10).map { _ in
      Task { [token = tracker.track()] in
        for await _ in gate {}
        withExtendedLifetime(token) {}
      }
    }
    #expect(tracker.alive == 10)
    for holder in holders { holder.cancel() }
    continuation.finish()
    await tracker.allReleased()
    #expect(tracker.alive == 0)
  }

  @Test func `Waiting ends when cancelled`() async {
    let tracker = LifetimeTracker()
    let token = tracker.track()
    let task = Task { await tracker.allReleased() }
    task.cancel()
    await task.value
    #expect(tracker.alive == 1)
    withExtendedLifetime(token) {}
  }
}
