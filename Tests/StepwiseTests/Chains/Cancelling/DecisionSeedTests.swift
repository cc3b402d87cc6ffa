// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Random chains, cancelled at a random moment, in 1,000 interleavings.
@Suite(.timeLimit(.minutes(5)))
struct DecisionSeedTests {
  /// What was seen of one run.
  private struct Log {
    let completed = Recorder<Int>()
    let undone = Recorder<Int>()
    let errors = Recorder<String>()
    let ends = Recorder<String>()
    let number = Watched(0)

    func next() -> Int {
      number.mutate { number in
        number += 1
        return number
      }
    }
  }

  private static func step(_ log: Log, _ generator: inout SeededGenerator) -> Chain<Int, Int> {
    let turns = Int.random(in: 0..<3, using: &generator)
    let undoTurns = Int.random(in: 0..<4, using: &generator)
    let fails = Int.random(in: 0..<6, using: &generator) == 0
    let number = log.next()
    return Chain(
      "\(number)",
      undo: { (_: Int) in
        for _ in 0..<undoTurns { await Task.yield() }
        log.undone.record(number)
      }
    ) { (value: Int) in
      for _ in 0..<turns { await Task.yield() }
      if fails { throw Fault(number) }
      log.completed.record(number)
      return value
    }
  }

  private static func chain(_ depth: Int, _ log: Log, _ generator: inout SeededGenerator) -> Chain<Int, Int> {
    var chain = step(log, &generator)
    for _ in 0..<Int.random(in: 1..<4, using: &generator) {
      chain = chain.appending(step(log, &generator))
      guard depth > 0 else { continue }
      switch Int.random(in: 0..<8, using: &generator) {
      case 0: chain = chain.appending(Self.chain(depth - 1, log, &generator))
      case 1:
        let parts = (Self.chain(depth - 1, log, &generator), Self.chain(depth - 1, log, &generator))
        chain = chain.appending(Chain.zip(parts.0, parts.1).then { value, _ in value })
      case 2: chain = chain.timeout(.seconds(60), clock: ManualClock())
      case 3: chain = chain.abandon(after: .seconds(60), clock: ManualClock())
      case 4: chain = chain.finally { _ in await Task.yield() }
      case 5: chain = chain.retry(RetryPolicy(maxAttempts: 1, backoff: .none))
      case 6: chain = chain.recover(from: TimeoutError.self) { _ in 0 }
      default: break
      }
    }
    return chain
  }

  // G26
  @Test
  func `cancel returns true exactly when it ends the run`() async {
    await forEachSeed { generator in
      var generator = generator
      let log = Log()
      let chain = Self.chain(2, log, &generator)
        .onError { log.errors.record("\($0)") }
        .finally { log.ends.record($0.brief) }
      let turns = Int.random(in: 0..<60, using: &generator)
      let run = chain.start(1)
      for _ in 0..<turns { await Task.yield() }
      let isCancelled = run.cancel(reason: "stop")
      let outcome = await run.outcome
      try require(log.ends.elements == [outcome.brief], "\(log.ends.elements)")
      switch outcome {
      case .resolved:
        try require(log.undone.elements.isEmpty && log.errors.elements.isEmpty, "undone \(log.undone.elements)")
      case .failed(let error):
        try require(!isCancelled, "cancelled, but failed with \(error)")
        try require(log.errors.elements == ["\(error)"], "\(log.errors.elements)")
      case .cancelled:
        try require(isCancelled, "cancelled without a request")
        try require(log.errors.elements.isEmpty, "reported \(log.errors.elements)")
      }
      if case .resolved = outcome { return }
      try require(log.undone.elements.sorted() == log.completed.elements.sorted(), "undone \(log.undone.elements)")
    }
  }

  /// A plain run under a timer, whose Task and whose time limit race: its handlers and its caller are told the same.
  @Test func `A plain run under a timer ends one way`() async {
    let ends = Recorder<String>()
    await forEachSeed { generator in
      var generator = generator
      let (log, clock) = (Log(), ManualClock())
      let chain = Self.chain(1, log, &generator).timeout(.seconds(1), clock: clock)
        .onError { log.errors.record($0 is TimeoutError ? "late" : "\($0)") }
        .finally { log.ends.record($0.brief) }
      let (turns, cancelTurns) = (
        Int.random(in: 0..<30, using: &generator), Int.random(in: 0..<30, using: &generator)
      )
      let task = spawn { await resultOf { try await chain.run(1) } }
      let timer = spawn {
        for _ in 0..<turns { await Task.yield() }
        clock.advance(by: .seconds(1))
      }
      for _ in 0..<cancelTurns { await Task.yield() }
      task.cancel()
      let result = await task.value
      await timer.value
      try require(log.ends.elements.count == 1, "\(log.ends.elements)")
      switch result {
      case .success:
        try require(log.ends.elements[0] == "resolved 1" && log.errors.elements.isEmpty, "\(log.ends.elements)")
        ends.record("value")
        return
      case .failure(is CancellationError):
        try require(log.ends.elements[0].hasPrefix("cancelled"), "\(log.ends.elements)")
        try require(log.errors.elements.isEmpty, "\(log.errors.elements)")
        ends.record("cancelled")
      case .failure(let error):
        try require(log.ends.elements[0].hasPrefix("failed"), "\(log.ends.elements)")
        try require(log.errors.elements == [error is TimeoutError ? "late" : "\(error)"], "\(log.errors.elements)")
        ends.record(error is TimeoutError ? "late" : "failed")
      }
      try require(log.undone.elements.sorted() == log.completed.elements.sorted(), "undone \(log.undone.elements)")
    }
    #expect(Set(ends.elements) == ["value", "cancelled", "late", "failed"])
  }
}
