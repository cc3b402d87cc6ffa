// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// The running step is interrupted at once, whatever requests it and however the run was begun.
@Suite(.timeLimit(.minutes(5)))
struct InterruptionTests {
  enum Source: CaseIterable, Sendable { case cancelRuns, token, tokenAround, task }
  enum Form: CaseIterable, Sendable { case run, start, step, appended, branch, unstructured }

  private let entered = Recorder<Int>()

  /// Waits until it is interrupted.
  private var waiting: Chain<Int, Int> {
    Chain("waiting") { [entered] (number: Int) in
      entered.record(number)
      await CancellationToken().waitForCancellation()
      try Task.checkCancellation()
      return number
    }
  }

  // G23, G30, G59
  @Test(arguments: Source.allCases, Form.allCases)
  func `The running step is interrupted at once`(source: Source, form: Form) async throws {
    let inner = waiting
    let chain: Chain<Int, Int> =
      switch form {
      case .run, .start: inner
      case .step: Chain { number in try await step("inner") { try await inner.run(number) } }
      case .appended: Chain { (number: Int) in number }.appending(inner)
      case .branch: Chain.zip(inner, Chain { (number: Int) in number }).then { (pair: (Int, Int)) in pair.0 }
      case .unstructured: Chain { number in try await Task { try await inner.run(number) }.value }
      }
    let token = CancellationToken()
    let task = Task {
      try await withCancellation(by: token) {
        guard form == .start else { return try await chain.run(1) }
        let run = chain.start(1)
        return try await withTaskCancellationHandler {
          try await run.value
        } onCancel: {
          run.cancel()
        }
      }
    }
    await entered.elements(atLeast: 1)
    switch source {
    case .cancelRuns: chain.cancelRuns(reason: "stop")
    case .token: chain.cancellationToken.cancel(reason: "stop")
    case .tokenAround: token.cancel(reason: "stop")
    case .task: task.cancel()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(task.isCancelled == (source == .task))
  }

  /// The chain inside alone, which the one around may replace.
  @Test func `A nested run that is cancelled alone leaves the run around it alone`() async throws {
    let inner = waiting
    let chain = Chain { (number: Int) in number }.appending(inner).recover { _ in 7 }
    async let value = chain.run(1)
    await entered.elements(atLeast: 1)
    inner.cancelRuns()
    #expect(try await value == 7)
  }

  /// A thread cancels, because the steps of two such runs may occupy all threads of the pool.
  @Test(arguments: [false, true]) func `A step that only computes sees the request`(isStarted: Bool) async throws {
    let entered = DispatchSemaphore(value: 0)
    let chain = Chain { () -> Bool in
      entered.signal()
      while !Task.isCancelled {}
      return true
    }
    Thread.detachNewThread {
      entered.wait()
      chain.cancelRuns()
    }
    #expect(try await isStarted ? chain.start().value : chain.run())
  }

  /// The handlers run on the thread that cancels, and without a lock of the run.
  @Test func `A handler in a step may cancel its own run, its chain and another one`() async throws {
    let (other, holder) = (waiting, Watched<Run<Int>?>(nil))
    let log = Recorder<String>()
    let chain = Watched<Chain<Void, Int>?>(nil)
    let own = Chain { [entered] () async throws -> Int in
      await withTaskCancellationHandler {
        entered.record(2)
        await CancellationToken().waitForCancellation()
      } onCancel: {
        log.record("again \(holder.read { $0 }?.cancel(reason: "again") ?? true)")
        chain.read { $0 }?.cancelRuns(reason: "again")
        chain.read { $0 }?.cancellationToken.cancel(reason: "again")
        other.cancelRuns(reason: "from the handler")
      }
      try Task.checkCancellation()
      return 1
    }
    chain.mutate { $0 = own }
    let otherRun = other.start(1)
    let run = own.start()
    holder.mutate { $0 = run }
    await entered.elements(atLeast: 2)
    run.cancel(reason: "first")
    #expect(await run.outcome.brief == "cancelled first")
    #expect(await otherRun.outcome.brief == "cancelled from the handler")
    #expect(log.elements == ["again false"])
    chain.mutate { $0 = nil }
  }

  /// The task of a run whose request was stored just before its decision may be cancelled while its handlers run.
  @Test func `Undos and handlers are shielded from a request at any instant`() async {
    for seed in seeds() {
      let wrong = Recorder<String>()
      let entered = Once<Void>()
      let chain = Chain("undoable", undo: { _ in wrong.recordIfCancelled("undo") }) {
        entered.settle(())
        for _ in 0..<seed % 7 { await Task.yield() }
        if seed.isMultiple(of: 2) { throw Fault(1) }
        return 1
      }
      .finally { _ in
        for _ in 0..<3 {
          await Task.yield()
          wrong.recordIfCancelled("finally")
        }
      }
      let whole = Chain { 0 }.then { _ in try await chain.run() }
      async let result = resultOf { try await whole.run() }
      await entered.valueIgnoringCancellation()
      for _ in 0..<seed % 5 { await Task.yield() }
      await onForeignThread { whole.cancelRuns() }
      _ = await result
      #expect(wrong.elements.isEmpty, "seed \(seed)")
    }
  }
}

extension Recorder<String> {
  fileprivate func recordIfCancelled(_ place: String) { if Task.isCancelled { record(place) } }
}
