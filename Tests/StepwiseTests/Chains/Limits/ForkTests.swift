// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// Chains share what they have in common, and keep nothing of one another's tails.
@Suite(.timeLimit(.minutes(5)))
struct ForkTests {
  private func fork(_ base: Chain<Int, Int>, _ object: LifetimeTracker.Tracked) -> Chain<Int, Int> {
    base.then { number in withExtendedLifetime(object) { number + 1 } }
      .recover { _ in withExtendedLifetime(object) { 0 } }
      .onError { _ in withExtendedLifetime(object) {} }
      .finally { _ in withExtendedLifetime(object) {} }
      .timeout(.seconds(1), clock: ManualClock())
      .overlap(.serial)
  }

  // G5
  @Test(arguments: [false, true])
  func `Chains derived from one base are released while the base lives`(afterRuns: Bool) async throws {
    let tracker = LifetimeTracker()
    let base = Chain { (number: Int) in number }.then { $0 + 1 }
    if afterRuns { #expect(try await base.run(1) == 2) }
    do {
      let forks = (0..<1_000).map { _ in fork(base, tracker.track()) }
      #expect(tracker.alive == 1_000)
      if afterRuns {
        for chain in forks { #expect(try await chain.run(1) == 3) }
        for chain in forks { #expect(try await chain.start(1).value == 3) }
        for chain in forks { await chain.waitUntilIdle() }
      }
    }
    await tracker.allReleased()
    #expect(tracker.made == 1_000)
    #expect(tracker.alive == 0)
    #expect(try await base.run(1) == 2)
  }

  @Test func `An accessed token retains nothing`() async throws {
    let tracker = LifetimeTracker()
    let base = Chain { (number: Int) in number }
    let token = base.cancellationToken
    do {
      let forks = (0..<1_000).map { _ in fork(base, tracker.track()) }
      for chain in forks { #expect(try await chain.run(1) == 2) }
    }
    await tracker.allReleased()
    #expect(!token.isCancelled)
    #expect(try await base.run(1) == 1)
  }

  @Test func `A released chain leaves nothing behind`() async throws {
    let tracker = LifetimeTracker()
    do {
      let object = tracker.track()
      let chain = fork(Chain { (number: Int) in withExtendedLifetime(object) { number } }, object)
      let whole = Chain.zip(chain, chain).then { $0 + $1 }.appending(chain)
      #expect(try await whole.run(1) == 5)
      #expect(try await whole.start(1).value == 5)
      await whole.waitUntilIdle()
    }
    await tracker.allReleased()
    #expect(tracker.alive == 0)
  }

  @Test func `A fork retains what it needs of a released chain`() async throws {
    var base: Chain<Int, Int>? = Chain { (number: Int) in number * 2 }
    let derived = try #require(base).then { $0 + 1 }
    base = nil
    #expect(try await derived.run(2) == 5)
  }

  @Test func `Forks are built and run from many threads`() async throws {
    let tracker = LifetimeTracker()
    let base = Chain { (number: Int) in number }.then { $0 + 1 }
    let sums = Recorder<Int>()
    await withTaskGroup { group in
      for thread in 0..<8 {
        group.addTask {
          var sum = 0
          for number in 0..<200 {
            let chain = fork(base, tracker.track())
            sum += (try? await number.isMultiple(of: 2) ? chain.run(thread) : chain.start(thread).value) ?? 0
          }
          sums.record(sum)
        }
      }
    }
    #expect(sums.elements.sorted() == (2..<10).map { $0 * 200 })
    await tracker.allReleased()
    #expect(tracker.made == 1_600)
  }

  /// The first runs of one chain at the same time flatten it once, or twice to the same end.
  @Test func `One chain is run first from many threads`() async throws {
    for _ in 0..<100 {
      let log = Recorder<Int>()
      let chain = Chain { (number: Int) in number + 1 }.then { $0 + 1 }.finally { _ in log.record(1) }.overlap(.serial)
      let values = await withTaskGroup(of: Int?.self) { group in
        for number in 0..<8 { group.addTask { try? await chain.run(number) } }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(values.compactMap { $0 }.sorted() == Array(2..<10))
      #expect(log.elements.count == 8)
    }
  }
}
