// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// The guarantees of resolvers in 1,000 interleavings each.
@Suite(.timeLimit(.minutes(5)))
struct ResolverSimulationTests {
  // G87
  /// A call and a cancel meet: one of them ends the step, handlers return before it does, no value is lost.
  @Test func `A call and a cancel race`() async {
    let ends = Recorder<String>()
    await forEachSeed { _ in
      let (log, kept, late) = (Recorder<String>(), Recorder<Resolver<Int>>(), Recorder<Int>())
      let chain = Chain(
        Step.callback { (_: Int, resolver: Resolver<Int>) in
          resolver.onCancel { reason in log.record("onCancel \(reason ?? "-")") }
          resolver.onLateValue { late.record($0) }
          kept.record(resolver)
          await Task.yield()
        }
      )
      .finally { state in log.record("finally \(state.summary)") }
      let run = chain.start(1)
      let isFirst = await withTaskGroup { group in
        group.addTask {
          await kept.elements(atLeast: 1)
          run.cancel(reason: "stop")
          return false
        }
        group.addTask {
          let resolver = await kept.elements(atLeast: 1)[0]
          await Task.yield()
          return resolver.resolve(7)
        }
        return await group.reduce(false) { $0 || $1 }
      }
      let outcome = await run.outcome.summary
      if isFirst {
        try require(outcome == "resolved 7", outcome)
        try require(log.elements == ["finally resolved 7"] && late.elements.isEmpty, "\(log.elements)")
      } else {
        try require(outcome == "cancelled stop", outcome)
        try require(log.elements == ["onCancel stop", "finally cancelled stop"], "\(log.elements)")
        try require(late.elements == [7], "\(late.elements)")
      }
      ends.record(outcome)
    }
    #expect(Set(ends.elements) == ["resolved 7", "cancelled stop"])
  }

  /// Cancellation races the release of the resolver.
  @Test func `A cancel and the release race`() async {
    let ends = Recorder<String>()
    await forEachSeed { _ in
      let log = Recorder<String>()
      let kept = Watched<Resolver<Int>?>(nil)
      let entered = Recorder<Int>()
      let chain = Chain(
        Step.callback { (_: Int, resolver: Resolver<Int>) in
          resolver.onCancel { reason in log.record("onCancel \(reason ?? "-")") }
          kept.mutate { $0 = resolver }
          entered.record(1)
        }
      )
      let run = chain.start(1)
      await entered.elements(atLeast: 1)
      await withTaskGroup { group in
        group.addTask { _ = run.cancel(reason: "stop") }
        group.addTask { _ = kept.mutate { $0.take() } }
      }
      switch await run.outcome {
      case .failed(let error):
        try require(error as? ResolverError == .abandoned && log.elements.isEmpty, "\(error) \(log.elements)")
        ends.record("abandoned")
      case .cancelled(let cancellation):
        // The release may win while the cancellation still decides the run's outcome.
        let isAbandoned = cancellation.underlyingError as? ResolverError == .abandoned
        try require(log.elements == (isAbandoned ? [] : ["onCancel stop"]), "\(cancellation) \(log.elements)")
        ends.record("cancelled")
      case .resolved(let value):
        throw Broken(description: "\(value)")
      }
    }
    #expect(ends.elements.contains("cancelled"))
  }

  /// Late values, the body's end and a completion handler, each in its order.
  @Test func `The completion is called once, at the end`() async {
    await forEachSeed { _ in
      let (log, kept) = (Recorder<String>(), Recorder<Resolver<Int>>())
      let chain = Chain(Step.callback { (_: Int, resolver: Resolver<Int>) in kept.record(resolver) })
        .finally { state in log.record("finally \(state.summary)") }
      let run = chain.start(1) { result in log.record("completion \((try? result.get()) ?? 0)") }
      await withTaskGroup { group in
        group.addTask { _ = run.cancel(reason: "stop") }
        group.addTask { _ = await kept.elements(atLeast: 1).first?.resolve(7) }
        group.addTask { await log.elements(atLeast: 2) }
        await group.next()
        // A run cancelled before it began has no resolver to wait for.
        await log.elements(atLeast: 2)
        group.cancelAll()
      }
      let expected = [["finally resolved 7", "completion 7"], ["finally cancelled stop", "completion 0"]]
      try require(expected.contains(log.elements), "\(log.elements)")
    }
  }
}
