// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

extension Races {
  /// Random programs that threads cancel at random instants.
  @Suite struct CancelAnywhereRaceTests {
    /// What passes through a chain.
    private struct Place: Sendable {
      /// The number of the run that undoes what completes here.
      let owner: Int
      /// The numbers of the attempts around the step, the innermost last; a run that is not retried is one attempt.
      var attempts: [Int] = []
    }

    /// What the steps of all runs have done, and what was wrong with it.
    private struct Ledger {
      struct Owner {
        var completed: Set<Int> = []
        var undone: Set<Int> = []
      }

      var owners: [Owner] = []
      /// The newest undo of each attempt that has any.
      var newestUndone: [Int: Int] = [:]
      var lastNumber = 0
      var begun = 0
      var ended = 0
      var complaints: [String] = []
      var chains: [Chain<Place, Place>] = []
      var runs: [(run: Run<Place>, owner: Int)] = []

      mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
      }

      mutating func addOwner() -> Place {
        owners.append(Owner())
        return Place(owner: owners.count - 1)
      }

      mutating func begin(at place: Place) {
        if place.attempts.contains(where: { newestUndone[$0] != nil }) {
          complaints.append("a body began after an undo")
        }
      }

      mutating func complete(at place: Place) -> Int {
        let number = nextNumber()
        owners[place.owner].completed.insert(number)
        return number
      }

      mutating func undo(_ number: Int, at place: Place) {
        if Task.isCancelled { complaints.append("an undo is cancelled") }
        if !owners[place.owner].undone.insert(number).inserted { complaints.append("\(number) was undone twice") }
        guard let attempt = place.attempts.last else { return }
        if let newest = newestUndone[attempt], newest < number {
          complaints.append("\(newest) undone before \(number)")
        }
        newestUndone[attempt] = number
      }

      /// A run has ended, and its undos with it.
      mutating func end(_ owner: Int, _ error: (any Error)?) {
        let (completed, undone) = (owners[owner].completed, owners[owner].undone)
        guard let error, completed != undone else { return }
        complaints.append("\(completed.count) completed, \(undone.count) undone: \(error)")
      }
    }

    private final class World: Sendable {
      let ledger = Watched(Ledger())
      let token = CancellationToken()
      let tracker = LifetimeTracker()

      /// Runs a chain as a run with undos of its own.
      func run(_ work: @Sendable (Place) async throws -> Place) async throws {
        let place = ledger.mutate { $0.addOwner() }
        let result = await Result.of { try await work(place) }
        ledger.mutate { $0.end(place.owner, result.error) }
        _ = try result.get()
      }

      /// A chain of random steps, some of which contain chains; it counts its runs.
      func chain(_ depth: Int, _ generator: inout SeededGenerator) -> Chain<Place, Place> {
        let (yields, kind) = (Int.random(in: 0..<4, using: &generator), Int.random(in: 0..<8, using: &generator))
        var chain = Chain("begin") { [ledger, object = tracker.track()] (place: Place) in
          withExtendedLifetime(object) {}
          var place = place
          ledger.mutate { ledger in
            ledger.begin(at: place)
            if kind != 0 { ledger.begun += 1 }
            place.attempts.append(ledger.nextNumber())
          }
          for _ in 0..<yields { await Task.yield() }
          return place
        }
        for _ in 0..<Int.random(in: 1..<4, using: &generator) { chain = appending(to: chain, depth, &generator) }
        chain = chain.then("end") { place in Place(owner: place.owner, attempts: place.attempts.dropLast()) }
        switch kind {
        case 0:
          let again = RetryPolicy(maxAttempts: 2, backoff: .constant(.milliseconds(1)))
          chain = Chain("enter") { [ledger] (place: Place) in
            ledger.mutate { $0.begun += 1 }
            return place
          }
          .appending(chain.retry(again))
        case 1: chain = chain.timeout(.milliseconds(3))
        case 2..<5: chain = chain.timeout(.seconds(600))
        default: break
        }
        let whole = chain.finally { [ledger, object = tracker.track()] _ in
          withExtendedLifetime(object) {}
          await Task.yield()
          let isCancelled = Task.isCancelled
          ledger.mutate { ledger in
            if isCancelled { ledger.complaints.append("a handler is cancelled") }
            ledger.ended += 1
          }
        }
        ledger.mutate { $0.chains.append(whole) }
        return whole
      }

      private func undoable(_ chain: Chain<Place, Place>) -> Chain<Place, Place> {
        let numbers = Watched<[Int: Int]>([:])
        return chain.then(
          "undoable",
          undo: { [ledger, object = tracker.track()] place in
            withExtendedLifetime(object) {}
            await Task.yield()
            guard let number = numbers.mutate({ $0.removeValue(forKey: place.attempts.last ?? 0) }) else {
              return ledger.mutate { $0.complaints.append("undone twice") }
            }
            ledger.mutate { $0.undo(number, at: place) }
          }
        ) { [ledger] (place: Place) in
          ledger.mutate { $0.begin(at: place) }
          let number = ledger.mutate { $0.complete(at: place) }
          numbers.mutate { $0[place.attempts.last ?? 0] = number }
          return place
        }
      }

      /// Fails once for each run, after a step that is undone.
      private func flaky(_ generator: inout SeededGenerator) -> Chain<Place, Place> {
        let failures = Watched(Int.random(in: 0..<2, using: &generator))
        let chain = Chain("attempt") { [ledger] (place: Place) in
          var place = place
          place.attempts.append(ledger.mutate { $0.nextNumber() })
          return place
        }
        return undoable(chain).then("flaky") { (place: Place) in
          let fails = failures.mutate { left in
            defer { left -= 1 }
            return left > 0
          }
          if fails { throw Fault(1) }
          return Place(owner: place.owner, attempts: place.attempts.dropLast())
        }
        .retry(RetryPolicy(maxAttempts: 3, backoff: .constant(.milliseconds(1))))
      }

      private func appending(to chain: Chain<Place, Place>, _ depth: Int, _ generator: inout SeededGenerator)
        -> Chain<Place, Place>
      {
        switch Int.random(in: 0..<(depth > 0 ? 12 : 6), using: &generator) {
        case 0, 1: return undoable(chain)
        case 2:
          return chain.then("sleep") { [ledger] (place: Place) in
            ledger.mutate { $0.begin(at: place) }
            try await Task.sleep(for: .milliseconds(2))
            return place
          }
        case 3: return chain.appending(flaky(&generator))
        case 4, 5:
          let (time, isLimited) = (Int.random(in: 0..<4, using: &generator), Bool.random(using: &generator))
          return chain.then("calls") { [ledger] (place: Place) in
            ledger.mutate { $0.begin(at: place) }
            let policy = RetryPolicy(maxAttempts: 2, backoff: .constant(.milliseconds(1)))
            let limit = Duration.milliseconds(isLimited ? 3 : 600_000)
            try await step("limited", retry: policy, timeout: limit) {
              var place = place
              place.attempts.append(ledger.mutate { $0.nextNumber() })
              try await step("inner") { [place] in
                ledger.mutate { $0.complete(at: place) }
              } undo: { [place] number in
                ledger.mutate { $0.undo(number, at: place) }
              }
              try await Task.sleep(for: .milliseconds(time))
            }
            return place
          }
        case 6: return chain.appending(self.chain(depth - 1, &generator))
        case 7:
          let (one, other) = (self.chain(depth - 1, &generator), self.chain(depth - 1, &generator))
          return chain.appending(Chain.zip(one, other).then { (places: (Place, Place)) in places.0 })
        case 8:
          return chain.appending(Chain.race(self.chain(depth - 1, &generator), self.chain(depth - 1, &generator)))
        case 9:
          let inner = self.chain(depth - 1, &generator)
          return chain.then("inner") { (place: Place) in
            try await step("run") { try await self.run { try await inner.run($0) } }
            return place
          }
        case 10:
          let inner = self.chain(depth - 1, &generator)
          return chain.then("task") { (place: Place) in
            try await Task { try await self.run { try await inner.run($0) } }.value
            return place
          }
        default:
          let (inner, isAwaited) = (self.chain(depth - 1, &generator), Bool.random(using: &generator))
          return chain.then("started") { [ledger] (place: Place) in
            let run = self.start(inner)
            if isAwaited { _ = try await run.value }
            ledger.mutate { $0.begin(at: place) }
            return place
          }
        }
      }

      @discardableResult
      func start(_ chain: Chain<Place, Place>) -> Run<Place> {
        let place = ledger.mutate { $0.addOwner() }
        let run = chain.start(place)
        ledger.mutate { $0.runs.append((run, place.owner)) }
        return run
      }

      /// Waits for all started runs, also those that they have started.
      func settle() async {
        var count = 0
        while let (run, owner) = ledger.read({ $0.runs.count > count ? $0.runs[count] : nil }) {
          let outcome = await run.outcome
          ledger.mutate { $0.end(owner, Result { try outcome.get() }.error) }
          count += 1
        }
        for chain in ledger.read({ $0.chains }) { await chain.waitUntilIdle() }
      }

      /// Cancels something after a number of spins.
      func cancel(_ source: Int, _ task: Task<Void, any Error>, _ chain: Chain<Place, Place>, at instant: Int) {
        for _ in 0..<instant { _ = Task.isCancelled }
        let (chains, runs) = ledger.read { ($0.chains, $0.runs) }
        let other = chains[instant % chains.count]
        switch source {
        case 0: task.cancel()
        case 1: chain.cancelRuns(reason: "all")
        case 2: token.cancel(reason: "around")
        case 3: chain.cancellationToken.cancel(reason: "token")
        case 4: other.cancelRuns(reason: "inner")
        case 5: other.cancellationToken.cancel(reason: "inner token")
        default: if !runs.isEmpty { runs[instant % runs.count].run.cancel(reason: "handle") }
        }
      }
    }

    /// Runs one program, and returns when all of it is released.
    private func play(_ seed: Int) async -> Ledger {
      var generator = SeededGenerator(seed: UInt64(seed))
      let world = World()
      await play(world, &generator)
      let ledger = world.ledger.mutate { ledger in
        (ledger.chains, ledger.runs) = ([], [])
        return ledger
      }
      await world.tracker.allReleased()
      return world.ledger.read { $0.complaints.isEmpty ? ledger : $0 }
    }

    private func play(_ world: World, _ generator: inout SeededGenerator) async {
      let chain = world.chain(3, &generator)
      let isStarted = Bool.random(using: &generator)
      let task = Task {
        try await withCancellation(by: world.token) {
          guard isStarted else { return try await world.run { try await chain.run($0) } }
          _ = try await world.start(chain).outcome.get()
        }
      }
      await withTaskGroup { group in
        for _ in 0..<Int.random(in: 1..<4, using: &generator) {
          let source = Int.random(in: 0..<7, using: &generator)
          let instant = Int.random(in: 0..<3_000, using: &generator)
          group.addTask { await onForeignThread { world.cancel(source, task, chain, at: instant) } }
        }
      }
      _ = await task.result
      await world.settle()
    }

    /// Each run ends; no body begins after an undo; what completed is undone once, newest first, or not at all; no handler
    /// or undo is cancelled; and nothing is retained.
    @Test func `Threads cancel random programs at random instants`() async {
      for round in 0..<rounds {
        let ledger = await play(round)
        var complaints = ledger.complaints
        if ledger.ended < ledger.begun { complaints.append("\(ledger.begun) begun, \(ledger.ended) ended") }
        if !complaints.isEmpty {
          Issue.record("round \(round): \(complaints)")
          break
        }
      }
    }
  }
}

extension Result {
  fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
