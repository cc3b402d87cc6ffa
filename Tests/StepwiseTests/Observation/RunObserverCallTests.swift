// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Synchronization
import Testing

@testable import Stepwise

/// How observers are called: without a lock, one call of a run at a time, in order.
@Suite(.timeLimit(.minutes(5)))
struct RunObserverCallTests {
  /// Uses everything of the run and of the registry that has a lock.
  private final class Curious: RunObserver {
    let run = Watched<Run<Int>?>(nil)
    let turnstile = Turnstile()
    let calls = Tally()

    var chain: Chain<Int, Int> {
      Chain("work", undo: { _ in }) { [turnstile] (number: Int) in
        await turnstile.passWhateverHappens()
        return number
      }
      .then("never") { $0 }.observed(by: self)
    }

    func use(cancelling: Bool = false) {
      calls.add(1)
      RunObservers.install(Silent()).remove()
      guard let run = run.read({ $0 }) else { return }
      _ = run.reading
      _ = run.progress.makeAsyncIterator()
      _ = run.isFinished
      if cancelling { run.cancel(reason: "seen") }
    }

    func runStarted(_ run: ObservedRun) { use() }
    func stepStarted(_ step: ObservedStep) { use() }
    func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) { use(cancelling: true) }
    func stepUndone(_ step: ObservedStep, error: (any Error)?) { use() }
    func runEnded(_ run: ObservedRun, duration: Duration, outcome: ChainState) { use() }
  }

  private struct Silent: RunObserver {}

  @Test func `No lock is held while an observer is called`() async {
    let observer = Curious()
    let run = observer.chain.start(1)
    observer.run.mutate { $0 = run }
    observer.turnstile.open()
    #expect(await run.outcome.cancellation?.reason == "seen")
    observer.run.mutate { $0 = nil }
    #expect(observer.calls.total == 5)
  }

  /// Counts the calls that begin while another one is in progress.
  private final class Overlap: RunObserver {
    private let isInCall = Atomic(false)
    let overlaps = Tally()
    let calls = Tally()

    func call() {
      if isInCall.exchange(true, ordering: .acquiringAndReleasing) { overlaps.add(1) }
      calls.add(1)
      for _ in 0..<100 { _ = calls.total }
      isInCall.store(false, ordering: .releasing)
    }

    func stepStarted(_ step: ObservedStep) { call() }
    func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) { call() }
    func runEnded(_ run: ObservedRun, duration: Duration, outcome: ChainState) { call() }
  }

  @Test func `The calls for a run and its branches never overlap`() async throws {
    let observer = Overlap()
    var branch = Chain { (number: Int) in number }
    for _ in 0..<50 { branch = branch.then { $0 + 1 } }
    let chain = Chain<Int, (Int, Int, Int, Int)>.zip(branch, branch, branch, branch).observed(by: observer)
    for _ in 0..<20 { _ = try await chain.run(0) }
    #expect(observer.overlaps.total == 0)
    #expect(observer.calls.total == 20 * (4 * (51 * 2 + 1) + 1))
  }

  @Test func `Many concurrent runs are each observed from start to end`() async {
    let log = ObserverLog()
    let chain = Chain("step") { (number: Int) in number }.observed(by: log)
    await withTaskGroup { group in
      for number in 0..<100 {
        group.addTask { _ = number % 2 == 0 ? try? await chain.run(number) : try? await chain.start(number).value }
      }
    }
    let lines = log.lines
    #expect(lines.count == 400)
    for number in 1...100 {
      let own = lines.filter { $0.hasPrefix("run \(number) ") || $0.hasPrefix("\(number) ") }
      let words = own.map { $0.split(separator: " ")[2] }
      #expect(words == ["step", "started", "finished", "ended"])
      #expect(own.last?.contains(" ended succeeded") ?? false)
    }
  }

  @Test
  func `An observer sees each run start and end exactly once`() async {
    await forEachSeed { seed in
      let log = ObserverLog()
      let inner = Chain("one") { await Task.yield() }.then("two") { await Task.yield() }
      let clock = ManualClock()
      let chain = Chain("zero") {}.appending(inner).abandon(after: .seconds(1), clock: clock).recover { _ in }
      let run = chain.observed(by: log).start()
      // The time limit may fire at any point, which the seed decides.
      while !run.isFinished {
        await Task.yield()
        clock.advance(by: .milliseconds(100))
      }
      let count = { (word: String) in log.lines.count { $0.hasPrefix("run ") && $0.contains(word) } }
      while count(" ended ") < count(" started") { await Task.yield() }
      // Each step that has started is finished once, after its start, and nothing of a run follows its end.
      for step in ["zero", "one", "two"] {
        let own = log.lines.filter { $0.contains(" \(step) ") && !$0.hasPrefix("run ") }.map { $0.contains("started") }
        guard own == [] || own == [true, false] else { throw Broken(description: "\(log.lines)") }
      }
    }
  }
}
