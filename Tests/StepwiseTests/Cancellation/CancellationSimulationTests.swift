// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// The guarantees of tokens, and of chains under them, in 1,000 interleavings each.
@Suite(.timeLimit(.minutes(5)))
struct CancellationSimulationTests {
  @Test func `One cancel is the first, and handlers run once and in order`() async {
    await forEachSeed { _ in
      let token = CancellationToken()
      let (winners, calls, removed) = (Recorder<String>(), Recorder<String>(), Recorder<Int>())
      await withTaskGroup { group in
        for name in ["a", "b"] {
          group.addTask {
            await Task.yield()
            if token.cancel(reason: name) { winners.record(name) }
          }
        }
        for number in 0..<3 {
          group.addTask {
            let first = token.onCancel { calls.record("\(number).0 \($0 ?? "-")") }
            token.onCancel { calls.record("\(number).1 \($0 ?? "-")") }
            await Task.yield()
            let called = calls.elements.contains { $0.hasPrefix("\(number).0") }
            first.remove()
            if !called { removed.record(number) }
          }
        }
        for _ in 0..<2 { group.addTask { await token.waitForCancellation() } }
      }
      try require(winners.elements.count == 1, "\(winners.elements)")
      try require(token.reason == winners.elements[0], "\(token.reason ?? "-")")
      var expected: [String] = []
      for number in 0..<3 {
        if !removed.elements.contains(number) { expected.append("\(number).0 \(winners.elements[0])") }
        expected.append("\(number).1 \(winners.elements[0])")
      }
      try require(calls.elements.sorted() == expected, "\(calls.elements), removed \(removed.elements)")
      for number in 0..<3 {
        let own = calls.elements.filter { $0.hasPrefix("\(number).") }
        try require(own == own.sorted(), "\(own)")
      }
    }
  }

  @Test func `Linked tokens follow in any order`() async {
    await forEachSeed { _ in
      let parent = CancellationToken()
      let children = Recorder<CancellationToken>()
      await withTaskGroup { group in
        group.addTask {
          await Task.yield()
          parent.cancel(reason: "parent")
        }
        for _ in 0..<3 {
          group.addTask {
            await Task.yield()
            let child = CancellationToken(linkedTo: parent)
            children.record(child)
            await Task.yield()
            child.cancel(reason: "child")
          }
        }
      }
      let reasons = children.elements.map { $0.reason ?? "-" }
      try require(reasons.allSatisfy { $0 == "parent" || $0 == "child" }, "\(reasons)")
    }
  }

  @Test func `The body of withCancellation sees every cancel`() async {
    await forEachSeed { _ in
      let token = CancellationToken()
      let seen = try await withThrowingTaskGroup { group in
        group.addTask {
          await Task.yield()
          token.cancel()
          return true
        }
        group.addTask {
          try await withCancellation(by: token) {
            await CancellationToken().waitForCancellation()
            return Task.isCancelled
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      try require(seen == [true, true], "\(seen)")
      let before = try await withCancellation(by: token) { Task.isCancelled }
      try require(before, "not cancelled from the start")
    }
  }

  /// Each run under a token ends once, resolved or cancelled for the token's reason, `finally` included.
  @Test func `Every run under a token ends once and has its reason`() async {
    let ends = Recorder<String>()
    await forEachSeed { _ in
      let token = CancellationToken()
      let log = Recorder<String>()
      let chain = Chain { (number: Int) in
        await Task.yield()
        return number
      }
      .then { number in
        await Task.yield()
        return number
      }
      .finally { state in log.record(state.summary) }
      await withTaskGroup { group in
        group.addTask {
          for _ in 0..<3 { await Task.yield() }
          token.cancel(reason: "stop")
        }
        group.addTask {
          _ = try? await withCancellation(by: token) {
            async let child = chain.run(1)
            let unstructured = spawn { _ = try? await chain.run(2) }
            let started = chain.start(3)
            _ = try? await chain.run(4)
            _ = try? await child
            await unstructured.value
            _ = await started.outcome
          }
        }
      }
      try require(log.elements.count == 4, "\(log.elements)")
      for end in log.elements {
        try require(end == "cancelled stop" || end.hasPrefix("resolved"), "\(log.elements)")
        ends.record(end)
      }
    }
    #expect(Set(ends.elements) == ["cancelled stop", "resolved 1", "resolved 2", "resolved 3", "resolved 4"])
  }

  /// A handler, a token around the run and the chain's token ask at once: the run ends once, for one of the reasons.
  @Test func `A run cancelled by many sources ends once for one reason`() async {
    let reasons = Recorder<String>()
    await forEachSeed { _ in
      let (outer, log) = (CancellationToken(), Recorder<String>())
      let chain = Chain { (number: Int) in
        await CancellationToken().waitForCancellation()
        return number
      }
      .then { number in number }
      .finally { state in log.record(state.cancellation?.reason ?? "-") }
      let run = try await withCancellation(by: outer) { chain.start(1) }
      let firsts = Tally()
      await withTaskGroup { group in
        group.addTask { if run.cancel(reason: "handle") { firsts.add(1) } }
        group.addTask { outer.cancel(reason: "outer") }
        group.addTask { chain.cancellationToken.cancel(reason: "chain") }
        group.addTask { chain.cancelRuns(reason: "runs") }
      }
      let reason = await run.outcome.cancellation?.reason ?? "-"
      try require(["handle", "outer", "chain", "runs"].contains(reason), reason)
      try require(log.elements == [reason], "\(log.elements), outcome \(reason)")
      try require(firsts.total == (reason == "handle" ? 1 : 0), "\(firsts.total) \(reason)")
      reasons.record(reason)
    }
    #expect(Set(reasons.elements) == ["handle", "outer", "chain", "runs"])
  }

  @Test
  func `Cancelling a shared token at any moment ends all runs`() async {
    await forEachSeed { _ in
      let log = Recorder<String>()
      let base = Chain { (number: Int) in
        await CancellationToken().waitForCancellation()
        return number
      }
      .then { number in number }
      .finally { state in log.record(state.summary) }
      let derived = base.then { $0 + 1 }
      await withTaskGroup { group in
        for chain in [base, derived] { group.addTask { _ = await chain.start(1).outcome } }
        group.addTask {
          await Task.yield()
          base.cancellationToken.cancel(reason: "over")
        }
      }
      try require(log.elements == ["cancelled over", "cancelled over"], "\(log.elements)")
    }
  }
}
