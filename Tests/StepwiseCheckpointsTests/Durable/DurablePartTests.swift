// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// What stops or cancels a part of the code between steps, and what the code makes of it.
@Suite(.timeLimit(.minutes(2)))
struct DurablePartTests {
  private let ledger = Ledger()
  private let store = MemoryCheckpointStore()

  private func mail() async throws -> Int {
    try await step("mail") {
      ledger.add("mail")
      return 1
    }
  }

  enum Part: CaseIterable { case step, chain, zip, race, durableChain, check, addTask }

  private func perform(_ part: Part) async throws -> Int {
    let inner = Chain("inner") { (_: Int) in try await mail() }
    switch part {
    case .step: return try await mail()
    case .chain: return try await inner.run(1)
    case .zip: return try await Chain<Int, [Int]>.zip([inner]).run(1)[0]
    case .race: return try await Chain.race(inner).run(1)
    case .durableChain: return try await inner.run(1, id: "inner", in: store)
    case .check:
      try Task.checkCancellation()
      return try await mail()
    case .addTask:
      return try await withThrowingTaskGroup { group in
        _ = group.addTaskUnlessCancelled { try await mail() }
        return try await group.next() ?? 0
      }
    }
  }

  /// A process that ends cancels the tasks of its runs.
  // G294
  @Test(arguments: Part.allCases)
  func `Code that a stop has reached has not ended its run, whatever it makes of it`(part: Part) async throws {
    let chain = Chain("order") { (_: Int) in
      try await step("charge") {
        ledger.add("charge")
        if ledger.lines.count == 1 { withUnsafeCurrentTask { $0?.cancel() } }
      } undo: {
        ledger.add("refund")
      }
      do { return try await perform(part) } catch { return -1 }
    }
    let task = Task { try await chain.run(1, id: "x", in: store) }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await chain.unfinished(in: store) == ["x"])
    #expect(try await chain.resume(id: "x", in: store) == 1)
    #expect(ledger.lines == ["charge", "mail"])
  }

  enum Canceller: CaseIterable { case before, elsewhere, code, codeBefore }

  /// Otherwise a further process, in which nothing cancels it, would find another path.
  // G295
  @Test(arguments: [Part.step, .chain, .zip, .durableChain], Canceller.allCases)
  func `A token around a part stops the run, unless its code cancels it`(part: Part, by canceller: Canceller)
    async throws
  {
    let (isSecond, firstToken) = (Once<Void>(), CancellationToken())
    if canceller == .before { firstToken.cancel() }
    let chain = Chain("order") { (_: Int) in
      let isFirst = isSecond.settled == nil
      let token = isFirst ? firstToken : CancellationToken()
      if canceller == .codeBefore { token.cancel() }
      let value: Int
      do {
        value = try await withThrowingTaskGroup { group in
          group.addTask {
            try await withCancellation(by: token) {
              try await step("begin") {
                if isFirst, canceller == .elsewhere { await Task.detached { _ = token.cancel() }.value }
                if canceller == .code { try await Task.sleep(for: .seconds(3_600)) }
              }
              return try await perform(part)
            }
          }
          if canceller == .code {
            try await step("decide") {}
            token.cancel()
          }
          return try await group.next() ?? 0
        }
      } catch {
        value = -1
      }
      try await step(value == 1 ? "thank" : "apologize") { ledger.add(value == 1 ? "thank" : "apologize") }
      return value
    }
    let first = await Result.of { try await chain.run(1, id: "x", in: store) }
    isSecond.settle(())
    if canceller == .code || canceller == .codeBefore {
      #expect(try first.get() == -1)
      #expect(ledger.lines == ["apologize"])
    } else {
      #expect(throws: CancellationError.self) { try first.get() }
      #expect(try await chain.resume(id: "x", in: store) == 1)
      #expect(ledger.lines == ["mail", "thank"])
    }
  }

  /// The interruption of the code cancels its token, which is no stop of its own.
  // G141
  @Test func `A cancellation that reaches a part by a token of the code undoes the run`() async throws {
    let reached = Once<Void>()
    let chain = Chain("order") { (input: Int) in
      try await step("charge") {
      } undo: {
        ledger.add("refund")
      }
      return try await withCancellationToken { token in
        try await withCancellation(by: token) {
          try await step("wait") {
            reached.settle(())
            try await Task.sleep(for: .seconds(3_600))
          }
          return input
        }
      }
    }
    let run = chain.start(1, id: "x", in: store)
    await reached.valueIgnoringCancellation()
    run.cancel()
    _ = await run.outcome
    #expect(ledger.lines == ["refund"])
    #expect(try await chain.unfinished(in: store) == [])
  }

  /// What another part waits for may never come.
  // G295
  @Test func `A token around a part interrupts the other parts as well`() async throws {
    let (reached, token) = (Once<Void>(), CancellationToken())
    let chain = Chain("order") { (input: Int) in
      try await withThrowingTaskGroup { group in
        let (numbers, continuation) = AsyncStream.makeStream(of: Int.self)
        group.addTask { for await _ in numbers {} }
        group.addTask {
          try? await withCancellation(by: token) {
            try await step("part") {
              reached.settle(())
              try await Task.sleep(for: .seconds(3_600))
            }
          }
          if (try? await step("fallback") { true }) ?? false { continuation.finish() }
        }
        try await group.waitForAll()
      }
      return input
    }
    let run = chain.start(1, id: "x", in: store)
    await reached.valueIgnoringCancellation()
    token.cancel()
    #expect(await "\(run.outcome)".hasPrefix("cancelled"))
    #expect(try await chain.unfinished(in: store) == ["x"])
  }

  enum Policy: CaseIterable {
    case dropNew, cancelPrevious

    var overlap: Overlap { self == .dropNew ? .dropNew : .cancelPrevious }
  }

  /// The other run may not be there in a further process.
  // G295
  @Test(arguments: Policy.allCases)
  func `Another run that refuses or displaces a part stops the run`(policy: Policy) async throws {
    let (reached, release) = (Once<Void>(), Once<Void>())
    let inner = Chain("inner") { (input: Int) in
      try await step("work \(input)") {
        guard reached.settled == nil else { return }
        reached.settle(())
        _ = await release.value()
        try Task.checkCancellation()
      }
      return input
    }
    .overlap(policy.overlap)
    let chain = Chain("order") { (input: Int) in
      let value = (try? await inner.run(input)) ?? -1
      try await step(value == 1 ? "thank" : "apologize") { ledger.add(value == 1 ? "thank" : "apologize") }
      return value
    }
    if policy == .dropNew {
      let other = inner.start(2)
      await reached.valueIgnoringCancellation()
      await #expect(throws: CancellationError.self) { try await chain.run(1, id: "x", in: store) }
      release.settle(())
      _ = await other.outcome
    } else {
      let run = chain.start(1, id: "x", in: store)
      await reached.valueIgnoringCancellation()
      #expect(try await inner.run(2) == 2)
      #expect(await "\(run.outcome)".hasPrefix("cancelled"))
    }
    #expect(ledger.lines.isEmpty)
    #expect(try await chain.resume(id: "x", in: store) == 1)
    #expect(ledger.lines == ["thank"])
  }

  /// Each process finds the other part there.
  // G295
  @Test(arguments: Policy.allCases)
  func `A part that another part of the run refuses or displaces decides its path`(policy: Policy) async throws {
    for last in 1...12 {
      let (ledger, base) = (Ledger(), MemoryCheckpointStore())
      let inner = Chain("inner") { (input: Int) in
        try await step("work \(input)") { await letOthersRun() }
        return input
      }
      .overlap(policy.overlap)
      let chain = Chain("order") { (_: Int) in
        let values = await withTaskGroup { group in
          for input in 1...2 { group.addTask { (try? await inner.run(input)) ?? -input } }
          return await group.reduce(into: []) { $0.append($1) }.sorted()
        }
        try await step("\(values)") { ledger.add("\(values)") }
        return values
      }
      let store = DyingStore(base, at: last, isLate: true)
      _ = try? await chain.run(1, id: "x", in: store)
      let values = try await chain.run(1, id: "x", in: base)
      #expect(values == (policy == .dropNew ? [-2, 1] : [-1, 2]), "\(last)")
      if store.writes < last { return }
    }
    Issue.record("more writes than expected")
  }

  /// Its body has its place in the order of the outer run, which was cancelled before.
  // G296
  @Test func `An order that is cancelled begins no inner run again`() async throws {
    let (reached, hasParts) = (Once<Void>(), Once<Void>())
    let inner = Chain("ship") { (input: Int) in
      try await step("parcel") {
        ledger.add("parcel")
        reached.settle(())
        if ledger.count("parcel") == 1 { try await Task.sleep(for: .seconds(3_600)) }
      }
      return input
    }
    let chain = Chain("order") { (input: Int) in
      try await step("charge") {
      } undo: {
        ledger.add("refund")
        if ledger.count("refund") == 1 { throw Declined(card: "visa") }
      }
      async let other: Void = {
        for part in 0..<300 { try await step("part \(part)") {} }
        hasParts.settle(())
      }()
      _ = try await inner.run(input, id: "ship", in: store)
      try await other
      return input
    }
    let run = chain.start(1, id: "x", in: store)
    for once in [reached, hasParts] { await once.valueIgnoringCancellation() }
    run.cancel()
    _ = await run.outcome
    await #expect(throws: CancellationError.self) { try await chain.resume(id: "x", in: store) }
    #expect(ledger.lines == ["parcel", "refund", "refund"])
    #expect(try await chain.unfinished(in: store) == [])
  }
}
