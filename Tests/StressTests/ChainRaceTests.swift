// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

extension Races {
  /// Races on real threads around the end of a run.
  @Suite struct ChainRaceTests {
    private struct Tally: Sendable {
      var finals = 0
      var cancelledFinals = 0
      var undos = 0
      var errors = 0
    }

    private func makeChain(_ tally: Watched<Tally>, steps: Int) -> Chain<Int, Int> {
      var chain = Chain { (number: Int) in number }.then("booked", undo: { _ in tally.mutate { $0.undos += 1 } }) { $0 }
      for _ in 0..<steps {
        chain = chain.then { number in
          await Task.yield()
          return number
        }
      }
      return chain.onError { _ in tally.mutate { $0.errors += 1 } }
        .finally { state in
          tally.mutate {
            $0.finals += 1
            if case .cancelled = state { $0.cancelledFinals += 1 }
          }
        }
    }

    @Test func `A cancel races with the end of a started run`() async {
      let tally = Watched(Tally())
      let chains = (0..<4).map { makeChain(tally, steps: $0) }
      var cancelled = 0
      for round in 0..<rounds {
        let run = chains[round % 4].start(round)
        async let isFirst = run.cancel(reason: "race")
        let outcome = await run.outcome
        switch outcome {
        case .resolved(let value): #expect(value == round)
        case .cancelled(let cancellation):
          cancelled += 1
          #expect(cancellation.reason == "race")
        case .failed(let error): Issue.record(error)
        }
        // After `cancel` returned true the run may still end with its value, but never the reverse.
        if await !isFirst, case .cancelled = outcome { Issue.record("cancelled, but cancel returned false") }
        if await run.outcome.isValue != outcome.isValue { Issue.record("the outcome has changed") }
      }
      let end = tally.read { $0 }
      #expect(end.finals == rounds)
      #expect(end.cancelledFinals == cancelled)
      #expect(end.undos <= cancelled)
      #expect(end.errors == 0)
    }

    /// The steps that end before there is a reader are recorded without a lock.
    @Test func `A reader that subscribes at any time misses no step`() async {
      var chain = Chain { (number: Int) in number }
      for step in 1..<40 {
        chain = chain.then { number in
          if step.isMultiple(of: 8) { await Task.yield() }
          return number
        }
      }
      for round in 0..<rounds {
        let run = chain.start(round)
        async let isDone = run.value
        var (begun, finished): (Set<Int>, Set<Int>) = ([], [])
        var isEnded = false
        for await event in run.events {
          switch event {
          case .stepStarted(let step): begun.insert(step.index)
          case .stepFinished(let step, _, error: nil): finished.insert(step.index)
          case .ended: isEnded = true
          default: break
          }
        }
        let value = try? await isDone
        #expect(begun.count == 40 && finished.count == 40 && isEnded && value == round, "round \(round)")
      }
    }

    @Test func `A cancel races with the end of a plain run`() async {
      let tally = Watched(Tally())
      let chains = (0..<4).map { makeChain(tally, steps: $0) }
      _ = chains[3].cancellationToken
      for round in 0..<rounds {
        let task = Task { try await chains[round % 4].run(round) }
        task.cancel()
        switch await task.result {
        case .success(let value): #expect(value == round)
        case .failure(let error): #expect(error is CancellationError)
        }
      }
      #expect(tally.read(\.finals) == rounds)
      #expect(tally.read(\.errors) == 0)
    }

    @Test func `One of many concurrent cancels succeeds`() async {
      let tally = Watched(Tally())
      for round in 0..<rounds / 4 {
        let chain = makeChain(tally, steps: 3)
        let token = CancellationToken()
        let run = try? await withCancellation(by: token) { chain.start(round) }
        guard let run else { continue }
        async let byHandle = run.cancel(reason: "handle")
        async let byToken: Bool = chain.cancellationToken.cancel(reason: "chain")
        async let byTokenAround = token.cancel(reason: "around")
        async let byRuns: Void = chain.cancelRuns(reason: "runs")
        let outcome = await run.outcome
        let reasons = await (byHandle, byToken, byTokenAround)
        await byRuns
        if case .cancelled(let cancellation) = outcome {
          #expect(["handle", "chain", "around", "runs"].contains(cancellation.reason))
          if reasons.0 { #expect(cancellation.reason == "handle") }
        }
      }
      #expect(tally.read(\.finals) == rounds / 4)
    }

    @Test(arguments: [Overlap.serial, .cancelPrevious, .dropNew, .keepLatest])
    func `No two runs are inside a gate`(policy: Overlap) async {
      let inside = Watched(0)
      let most = Watched(0)
      let ends = Watched(0)
      let chain = Chain { (number: Int) in number }
        .then("inside", undo: { _ in inside.mutate { $0 -= 1 } }) { number in
          let now = inside.mutate {
            $0 += 1
            return $0
          }
          most.mutate { $0 = max($0, now) }
          return number
        }
        .then { number in
          await Task.yield()
          return number
        }
        .finally { state in
          if case .resolved = state { inside.mutate { $0 -= 1 } }
          ends.mutate { $0 += 1 }
        }
        .overlap(policy)
      let count = rounds / 8
      await withTaskGroup { group in
        for thread in 0..<4 {
          group.addTask {
            for round in 0..<count {
              switch (round + thread) % 3 {
              case 0: _ = try? await chain.run(round)
              case 1:
                let run = chain.start(round)
                await Task.yield()
                run.cancel()
              default: chain.start(round)
              }
            }
          }
        }
      }
      await chain.waitUntilIdle()
      #expect(most.read { $0 } == 1)
      #expect(inside.read { $0 } == 0)
      // Only the admitted runs call it.
      #expect((1...count * 4).contains(ends.read { $0 }))
    }

    @Test func `drain misses no end`() async {
      let chain = Chain { (number: Int) in await Task.yield() }
      for round in 0..<rounds {
        chain.start(round)
        if round.isMultiple(of: 3) { chain.start(round) }
        await chain.waitUntilIdle()
        let count = chain.runsInFlight
        if count != 0 { Issue.record("drained with \(count) in flight") }
      }
    }

    /// Runs of others begin and end all the while.
    @Test func `drain waits for runs that began before it`() async {
      let chain = Chain { (number: Int) in number }
      await withTaskGroup { group in
        for _ in 0..<4 {
          group.addTask {
            for round in 0..<rounds {
              let run = chain.start(round)
              await chain.waitUntilIdle()
              guard !run.isFinished else { continue }
              Issue.record("round \(round)")
              return
            }
          }
        }
      }
    }

    /// Cancelling a run that is observed in flight takes effect.
    @Test func `cancelRuns reaches every run in flight`() async {
      for round in 0..<rounds / 4 {
        let chain = Chain { (number: Int) in number }.then { _ in await Task.yield() }.then {
          while !Task.isCancelled { await Task.yield() }
        }
        let task = Task { chain.start(round) }
        while chain.runsInFlight == 0 { await Task.yield() }
        chain.cancelRuns(reason: "seen")
        let outcome = await task.value.outcome
        if case .failed(let error) = outcome { Issue.record(error) }
        await chain.waitUntilIdle()
      }
    }
  }
}

extension Outcome {
  fileprivate var isValue: Bool { if case .resolved = self { true } else { false } }
}
