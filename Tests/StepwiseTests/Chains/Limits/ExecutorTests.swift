// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// Where steps run, and what that costs the actor that awaits them.
@Suite(.timeLimit(.minutes(5)))
struct ExecutorTests {
  private actor Bound {
    private let executor: CountingExecutor

    init(_ executor: CountingExecutor) { self.executor = executor }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Returns how many jobs the run cost this actor.
    func jobs(of chain: Chain<Int, Int>) async throws -> Int {
      let before = executor.jobCount
      _ = try await chain.run(0)
      return executor.jobCount - before
    }
  }

  private func makeLong(_ step: @escaping @Sendable () -> Void) -> Chain<Int, Int> {
    var chain = Chain { (number: Int) in number }
    for _ in 0..<100 {
      chain = chain.then { number in
        step()
        return number + 1
      }
    }
    return chain
  }

  @Test(arguments: [false, true])
  func `Only the steps before executor(_:) run on it`(started: Bool) async throws {
    let executor = CountingExecutor()
    let seen = Recorder<String>()
    let chain = Chain { (number: Int) in
      seen.record("first \(executor.isCurrent)")
      return number
    }
    .then { number async in
      await Task.yield()
      seen.record("second \(executor.isCurrent)")
      return number
    }
    .appending(
      Step { number in
        seen.record("third \(executor.isCurrent)")
        return number
      }
    )
    .executor(executor)
    .then { number in
      seen.record("fourth \(executor.isCurrent)")
      return number
    }
    .finally { _ in seen.record("finally \(executor.isCurrent)") }
    let value = started ? try await chain.start(1).value : try await chain.run(1)
    #expect(value == 1)
    #expect(seen.elements == ["first true", "second true", "third true", "fourth false", "finally false"])
  }

  @Test func `The innermost executor wins`() async throws {
    let inner = CountingExecutor()
    let outer = CountingExecutor()
    let seen = Recorder<String>()
    @Sendable func note(_ number: Int) -> Int {
      seen.record(inner.isCurrent ? "inner" : outer.isCurrent ? "outer" : "none")
      return number
    }
    let chain = Chain(note).executor(inner).then(note).executor(outer).then(note)
    #expect(try await chain.run(1) == 1)
    #expect(seen.elements == ["inner", "outer", "none"])
  }

  @Test func `Steps bound to an actor run there`() async throws {
    let executor = CountingExecutor()
    let seen = Recorder<Bool>()
    let chain = Chain { @MainActor (number: Int) in
      MainActor.preconditionIsolated()
      seen.record(executor.isCurrent)
      return number
    }
    .executor(executor)
    #expect(try await chain.run(1) == 1)
    #expect(seen.elements == [false])
  }

  /// A started run, and every task that the library creates, inherit the preference of the caller.
  @Test func `The caller's executor preference is kept`() async throws {
    let executor = CountingExecutor()
    let seen = Recorder<Bool>()
    let note = Chain { (number: Int) in
      seen.record(executor.isCurrent)
      return number
    }
    let chain = Chain.zip(note, note).then { $0 + $1 }
      .then("booked", undo: { _ in seen.record(executor.isCurrent) }) { $0 }
      .timeout(.seconds(5), clock: ManualClock())
      .then { _ -> Int in throw Fault(1) }
      .finally { _ in seen.record(executor.isCurrent) }
    let outcome = await Task(executorPreference: executor) {
      _ = await resultOf { try await chain.run(0) }
      return await chain.start(0).outcome
    }.value
    #expect(outcome.brief == "failed \(Fault(1))")
    #expect(seen.elements == Array(repeating: true, count: 8))
  }

  // G2
  @Test @MainActor func `A plain step never runs on the main actor's thread`() async throws {
    #expect(isOnTheMainQueue())
    let onMain = Recorder<Bool>()
    let chain = makeLong { onMain.record(isOnTheMainQueue()) }
      .recover { _ in 0 }
      .then("booked", undo: { _ in onMain.record(isOnTheMainQueue()) }) { $0 }
      .then { number in
        onMain.record(isOnTheMainQueue())
        if number == 101 { throw Fault(1) }
        return number
      }
      .onError { _ in onMain.record(isOnTheMainQueue()) }
      .finally { _ in onMain.record(isOnTheMainQueue()) }
    #expect(try await chain.run(0) == 100)
    _ = try? await chain.run(1)
    #expect(try await chain.start(0).value == 100)
    _ = chain.cancellationToken
    #expect(try await chain.run(0) == 100)
    #expect(try await chain.overlap(.serial).run(0) == 100)
    #expect(isOnTheMainQueue())
    #expect(onMain.elements.count > 500)
    #expect(!onMain.elements.contains(true))
  }

  /// A step that blocks its thread does not block the main actor.
  @Test @MainActor func `The main actor is not blocked during a run`() async throws {
    let turns = DispatchSemaphore(value: 0)
    let chain = Chain { waitForIt(turns) }
    async let ended: Void = chain.run()
    await Task { @MainActor in _ = turns.signal() }.value
    try await ended
  }

  /// Leaving an actor costs it nothing; coming back is one job, not one a step.
  @Test(arguments: ["plain", "handlers", "token", "gate"])
  func `Awaiting a chain costs the actor one hop`(kind: String) async throws {
    var chain = makeLong {}
    switch kind {
    case "handlers": chain = chain.onError { _ in }.finally { _ in }.finally { _ in }
    case "token": _ = chain.cancellationToken
    case "gate": chain = chain.overlap(.serial)
    default: break
    }
    let actor = Bound(CountingExecutor())
    #expect(try await actor.jobs(of: chain) == 1)
    #expect(try await actor.jobs(of: chain) == 1)
  }
}

/// Blocks the thread, which asynchronous code may not do directly.
private func waitForIt(_ semaphore: DispatchSemaphore) { semaphore.wait() }
