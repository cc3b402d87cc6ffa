// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Admission is decided in the order of the calls; however runs are cancelled, never two are inside.
@Suite(.timeLimit(.minutes(5)))
struct OverlapOrderTests {
  private struct Presence: Sendable {
    var inside = 0
    var most = 0
    var order: [Int] = []
    var ends = 0

    mutating func enter(_ number: Int) {
      inside += 1
      most = max(most, inside)
      order.append(number)
    }
  }

  // G52
  @Test func `Started runs begin in the order of the calls`() async {
    let order = Recorder<Int>()
    let chain = Chain { (number: Int) in order.record(number) }.overlap(.serial)
    for number in 0..<2_000 { chain.start(number) }
    await chain.waitUntilIdle()
    #expect(order.elements == Array(0..<2_000))
  }

  @Test @MainActor func `Plain runs begin in the order of the calls`() async {
    let calls = Recorder<Int>()
    let order = Recorder<Int>()
    let chain = Chain { (number: Int) in order.record(number) }.overlap(.serial)
    let tasks = (0..<1_000).map { number in
      Task {
        calls.record(number)
        if number.isMultiple(of: 3) { chain.start(number) } else { try? await chain.run(number) }
      }
    }
    for task in tasks { await task.value }
    await chain.waitUntilIdle()
    #expect(order.elements == calls.elements)
    #expect(calls.elements.count == 1_000)
  }

  // G52
  @Test func `The order is that of the calls for every seed`() throws {
    for seed in seeds() {
      let (calls, order) = try SeededExecutor(seed: seed).run {
        let calls = Recorder<Int>()
        let order = Recorder<Int>()
        let chain = Chain { (number: Int) in
          order.record(number)
          await Task.yield()
        }.overlap(.serial)
        await withTaskGroup { group in
          for number in 0..<6 {
            group.addTask {
              calls.record(number)
              if number.isMultiple(of: 2) { chain.start(number) } else { try? await chain.run(number) }
            }
          }
        }
        await chain.waitUntilIdle()
        return (calls.elements, order.elements)
      }
      try #require(order == calls, "seed \(seed)")
    }
  }

  /// Counts who is inside: a step enters, its undo or else `finally` leaves.
  private func makeChain(_ presence: Watched<Presence>, _ policy: Overlap) -> Chain<Int, Int> {
    Chain { (number: Int) in number }
      .then(
        "inside",
        undo: { _ in
          await Task.yield()
          presence.mutate { $0.inside -= 1 }
        }
      ) { number in
        presence.mutate { $0.enter(number) }
        return number
      }
      .then { number in
        await Task.yield()
        if number % 5 == 4 { throw Fault(number) }
        await Task.yield()
        return number
      }
      .finally { state in
        if case .resolved = state {
          await Task.yield()
          presence.mutate { $0.inside -= 1 }
        }
        presence.mutate { $0.ends += 1 }
      }
      .overlap(policy)
  }

  // G53
  @Test(arguments: [Overlap.serial, .cancelPrevious, .dropNew, .keepLatest])
  func `Runs never overlap and every run ends for every seed`(policy: Overlap) throws {
    for seed in seeds(250) {
      let presence = Watched(Presence())
      let (count, outcomes) = try SeededExecutor(seed: seed).run {
        let chain = makeChain(presence, policy)
        let outcomes = await withTaskGroup(of: String.self) { group in
          for number in 0..<8 {
            group.addTask {
              for _ in 0..<(Int(seed) + number * 3) % 5 { await Task.yield() }
              switch (Int(seed) + number) % 3 {
              case 0: return await chain.start(number).outcome.brief
              case 1:
                let run = chain.start(number)
                for _ in 0..<number % 4 { await Task.yield() }
                run.cancel(reason: "impatient")
                return await run.outcome.brief
              default: return await resultOf { try await chain.run(number) }.brief
              }
            }
          }
          return await group.reduce(into: []) { $0.append($1) }
        }
        return (chain.runsInFlight, outcomes)
      }
      let end = presence.read { $0 }
      try #require(count == 0 && outcomes.count == 8, "seed \(seed)")
      // Each admitted run calls `finally` once, and a run that was never admitted does not.
      let valueCount = outcomes.filter { $0.hasPrefix("resolved") || $0.hasPrefix("success") }.count
      try #require(end.ends >= max(1, valueCount) && end.ends <= 8, "seed \(seed)")
      try #require(end.most <= 1 && end.inside == 0, "seed \(seed): \(end)")
      for outcome in outcomes where outcome.hasPrefix("cancelled") {
        let known = outcome.hasPrefix("cancelled \(policy.name)") || outcome.hasPrefix("cancelled impatient")
        try #require(known, "seed \(seed): \(outcome)")
      }
    }
  }
}
