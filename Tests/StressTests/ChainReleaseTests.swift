// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Synchronization
import Testing

extension Races {
  /// Whatever happens to many runs, nothing of them stays.
  @Suite struct ChainReleaseTests {
    /// Resident memory in bytes, where the system reports it.
    private static func residentMemory() throws -> Int? {
      #if os(Linux)
        let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return pages.count > 1 ? Int(pages[1]).map { $0 * Int(getpagesize()) } : nil
      #else
        return nil
      #endif
    }

    /// Starts runs, cancels them at random moments, and leaves when all have ended.
    private static func cancelAtRandom(_ count: Int, seed: UInt64, _ tracker: LifetimeTracker, _ ends: Watched<Int>)
      async
    {
      var generator = SeededGenerator(seed: seed)
      for _ in 0..<count {
        let chain = Chain { [object = tracker.track()] (number: Int) in withExtendedLifetime(object) { number } }
          .appending(
            Step.callback { [object = tracker.track()] (number: Int, resolver: Resolver<Int>) in
              resolver.onCancel { _ in withExtendedLifetime(object) {} }
              if number.isMultiple(of: 2) {
                Task { resolver.resolve(number) }
              } else {
                resolver.onCancel { _ in withExtendedLifetime(resolver) {} }
              }
            }
          )
          .then("booked", undo: { [object = tracker.track()] _ in withExtendedLifetime(object) {} }) { $0 }
          .finally { [object = tracker.track()] _ in withExtendedLifetime(object) { ends.mutate { $0 += 1 } } }
        let token = CancellationToken()
        let input = Int.random(in: 0..<100, using: &generator)
        let patience = Int.random(in: 0..<6, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0:
          let run = chain.start(input)
          for _ in 0..<patience { await Task.yield() }
          run.cancel(reason: "handle")
          _ = await run.outcome
        case 1:
          let run = chain.start(input)
          for _ in 0..<patience { await Task.yield() }
          chain.cancellationToken.cancel(reason: "chain")
          _ = await run.outcome
        case 2:
          token.onCancel { [object = tracker.track()] _ in withExtendedLifetime(object) {} }
          let task = Task { try await withCancellation(by: token) { try await chain.run(input) } }
          for _ in 0..<patience { await Task.yield() }
          token.cancel(reason: "token")
          _ = await task.result
        default:
          let task = Task { try await chain.run(input) }
          for _ in 0..<patience { await Task.yield() }
          task.cancel()
          _ = await task.result
        }
      }
    }

    /// Runs in a separate process, whose memory is measured.
    @Test func `Runs cancelled at random moments leave nothing behind`() async {
      await #expect(processExitsWith: .success) { try await Self.cancelManyAtRandom() }
    }

    private static func cancelManyAtRandom() async throws {
      let tracker = LifetimeTracker()
      let ends = Watched(0)
      func cancelMany(_ count: Int) async {
        await withTaskGroup { group in
          for seed in 0..<2 as Range<UInt64> {
            group.addTask { await Self.cancelAtRandom(count / 2, seed: seed, tracker, ends) }
          }
        }
      }
      let count = rounds * 10
      await cancelMany(count / 5)
      await tracker.allReleased()
      let before = try residentMemory()
      await cancelMany(count)
      await tracker.allReleased()
      let after = try residentMemory()
      #expect(tracker.alive == 0)
      #expect(ends.read { $0 } == count + count / 5)
      if let before, let after { #expect(after - before < 8 << 20, "\(before) bytes, then \(after)") }
    }

    /// In a process of its own, which has the processors to itself.
    @Test func `One token ends many runs that wait for lost callbacks`() async {
      await #expect(processExitsWith: .success) { await Self.cancelManyAtOnce() }
    }

    private static func cancelManyAtOnce() async {
      let count = 10_000
      let resolvers = Watched<[Resolver<Int>]>([])
      let states = Watched<[String: Int]>([:])
      let chain = Chain { (number: Int) in number }
        .appending(Step.callback { (_: Int, resolver: Resolver<Int>) in resolvers.mutate { $0.append(resolver) } })
        .finally { state in
          guard case .cancelled(let cancellation) = state else { return }
          states.mutate { $0[cancellation.reason ?? "-", default: 0] += 1 }
        }
      let token = chain.cancellationToken
      let plain = Watched(0)
      let tasks = (0..<count / 2).map { number in
        Task {
          _ = try? await chain.run(number)
          plain.mutate { $0 += 1 }
        }
      }
      let runs = (0..<count / 2).map { chain.start($0) }
      await resolvers.wait { $0.count == count }
      let time = await ContinuousClock().measure {
        token.cancel(reason: "all")
        await chain.waitUntilIdle()
      }
      for task in tasks { await task.value }
      for run in runs { #expect(run.isFinished) }
      // Within a second on a machine that has nothing else to do; time that grows with the square would be minutes.
      #expect(time < .seconds(10))
      #expect(states.read { $0 } == ["all": count])
      #expect(chain.runsInFlight == 0)
      #expect(plain.read { $0 } == count / 2)
    }
  }
}
