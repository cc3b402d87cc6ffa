// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import StepwiseTesting
import TestSupport
import Testing

@testable import Stepwise

/// `chain.cancellationToken`: one for a family of chains, which it ends for good.
@Suite(.timeLimit(.minutes(5)))
struct ChainTokenTests {
  private let log = Recorder<String>()
  private let entered = Recorder<Int>()
  private let gate = Recorder<Int>()

  /// Waits until it is interrupted.
  private var waiting: Chain<Int, Int> {
    Chain("wait") { [entered] (number: Int) in
      entered.record(number)
      try await ManualClock().sleep(for: .seconds(1))
      return number
    }
    .finally { [log] state in log.record("finally \(state.summary)") }
  }

  /// Tells at the gate whether it is interrupted, and has a step after that.
  private var stubborn: Chain<Int, Int> {
    Chain("stubborn") { [entered, gate, log] (number: Int) in
      entered.record(number)
      await Task { _ = await gate.elements(atLeast: 1) }.value
      log.record("interrupted \(Task.isCancelled)")
      return number
    }
    .then("next") { [log] number in
      log.record("next")
      return number
    }
    .finally { [log] state in log.record("finally \(state.summary)") }
  }

  // MARK: - Whose it is

  @Test func `A chain always returns the same token`() {
    let chain = Chain { (number: Int) in number }
    let token = chain.cancellationToken
    #expect(chain.cancellationToken === token)
  }

  @Test func `A chain shares its token with derived chains`() {
    let base = Chain { (number: Int) in number }
    let derived = base.then { $0 + 1 }
    let sibling = base.then { "\($0)" }.onError { _ in }
    let grandchild = derived.finally { _ in }.overlap(.serial)
    let token = derived.cancellationToken
    #expect(base.cancellationToken === token)
    #expect(sibling.cancellationToken === token)
    #expect(grandchild.cancellationToken === token)
    #expect(grandchild.then { $0 }.cancellationToken === token)
  }

  @Test func `Chains created separately have separate tokens`() {
    let (one, other) = (Chain { (number: Int) in number }, Chain { (number: Int) in number })
    #expect(one.cancellationToken !== other.cancellationToken)
    #expect(one.appending(other).cancellationToken === one.cancellationToken)
    #expect(Chain.zip(one, other).cancellationToken !== one.cancellationToken)
  }

  // G82
  /// It ends all of them for good.
  @Test func `A cancelled token ends all runs for good`() async {
    let base = waiting
    let derived = base.then { $0 + 1 }
    derived.cancellationToken.cancel(reason: "over")
    for _ in 0..<2 {
      await #expect(throws: CancellationError.self) { try await base.run(1) }
      await #expect(throws: CancellationError.self) { try await derived.run(1) }
      #expect(await derived.start(1).outcome.cancellation?.reason == "over")
      await #expect(throws: CancellationError.self) { try await derived.then { $0 }.run(1) }
    }
    #expect(entered.elements.isEmpty)
    #expect(log.elements == Array(repeating: "finally cancelled over", count: 8))
  }

  // MARK: - Runs made by start

  @Test
  func `A token accessed before start interrupts the run immediately`() async {
    let chain = waiting
    let token = chain.cancellationToken
    let run = chain.start(1)
    await entered.elements(atLeast: 1)
    token.cancel(reason: "stop")
    #expect(await run.outcome.cancellation?.reason == "stop")
    #expect(log.elements == ["finally cancelled stop"])
  }

  @Test func `A token that is accessed after start interrupts the run immediately`() async {
    let chain = waiting
    let run = chain.start(1)
    await entered.elements(atLeast: 1)
    chain.cancellationToken.cancel(reason: "stop")
    #expect(await run.outcome.cancellation?.reason == "stop")
    #expect(log.elements == ["finally cancelled stop"])
  }

  // G82
  @Test func `One token interrupts the runs of all derived chains`() async {
    let base = waiting
    let family = [base, base.then { $0 + 1 }, base.onError { _ in }, base.overlap(.concurrent).then { $0 }]
    let runs = family.map { $0.start(1) }
    await entered.elements(atLeast: family.count)
    family[2].cancellationToken.cancel(reason: "all")
    for run in runs { #expect(await run.outcome.cancellation?.reason == "all") }
  }

  @Test func `Runs of unrelated chains are unaffected`() async throws {
    let (one, other) = (waiting, stubborn)
    let run = other.start(1)
    await entered.elements(atLeast: 1)
    one.cancellationToken.cancel()
    gate.record(1)
    #expect(try await run.value == 1)
  }

  // MARK: - Plain runs

  @Test
  func `A plain run after the token's access is interrupted immediately`() async {
    let chain = waiting
    let token = chain.cancellationToken
    let task = Task { try await chain.run(1) }
    await entered.elements(atLeast: 1)
    token.cancel(reason: "stop")
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.elements == ["finally cancelled stop"])
    #expect(!task.isCancelled)
  }

  @Test
  func `A plain run before the token's access is interrupted immediately`() async {
    let chain = stubborn
    let task = Task { try await chain.run(1) }
    await entered.elements(atLeast: 1)
    chain.cancellationToken.cancel(reason: "stop")
    gate.record(1)
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.elements == ["interrupted true", "finally cancelled stop"])
  }

  @Test func `A plain run that began before keeps the value of its last step`() async throws {
    let chain = Chain { [entered, gate] (number: Int) in
      entered.record(number)
      await gate.elements(atLeast: 1)
      return number
    }
    let task = Task { try await chain.run(1) }
    await entered.elements(atLeast: 1)
    chain.cancellationToken.cancel()
    gate.record(1)
    #expect(try await task.value == 1)
  }

  @Test
  func `A retry inside a step makes no attempt after the token is cancelled`() async throws {
    let step = Step("flaky") { [entered, gate, log] (number: Int) in
      entered.record(number)
      if entered.elements.count == 1 { await gate.elements(atLeast: 1) }
      log.record("attempt \(entered.elements.count)")
      throw Fault(entered.elements.count)
    }
    .retry(RetryPolicy(maxAttempts: 3, backoff: .none))
    let chain = Chain { (number: Int) in number }.appending(step).then { [log] _ in log.record("next") }
      .finally { [log] state in log.record("finally \(state.cancellation?.reason ?? "-")") }
    let task = Task { try await chain.run(1) }
    await entered.elements(atLeast: 1)
    chain.cancellationToken.cancel(reason: "stop")
    gate.record(1)
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.elements == ["attempt 1", "finally stop"])
  }

  // MARK: - Before its handlers

  /// A handler of the token may take long, and wait for runs.
  @Test func `Runs end before the token's handlers return, and none begins a step`() async throws {
    let ended = DispatchSemaphore(value: 0)
    let late = Once<String>()
    let chain = Chain("first") { [entered, gate, log] (number: Int) in
      log.record("first \(number)")
      entered.record(number)
      await Task { _ = await gate.elements(atLeast: 1) }.value
      return number
    }
    .then("second") { [log] number in log.record("second") }
    let token = chain.cancellationToken
    token.onCancel { [gate] _ in
      gate.record(1)
      ended.wait()
      let run = chain.start(2)
      Task {
        late.settle(await run.outcome.brief)
        ended.signal()
      }
      ended.wait()
    }
    let run = Task {
      let result = await resultOf { try await chain.run(1) }
      ended.signal()
      return result.brief
    }
    await entered.elements(atLeast: 1)
    async let cancelled = onForeignThread { token.cancel(reason: "stop") }
    #expect(await run.value == "failure CancellationError()")
    #expect(await late.value() == "cancelled stop")
    #expect(await cancelled)
    #expect(log.elements == ["first 1"])
  }

  @Test func `A run that starts in a handler of the token displaces no other run`() async {
    let chain = waiting.overlap(.cancelPrevious)
    let token = chain.cancellationToken
    let late = Once<Run<Int>>()
    token.onCancel { _ in late.settle(chain.start(2)) }
    let run = chain.start(1)
    await entered.elements(atLeast: 1)
    token.cancel(reason: "stop")
    #expect(await run.outcome.brief == "cancelled stop")
    #expect(await late.valueIgnoringCancellation().outcome.brief == "cancelled stop")
    #expect(entered.elements == [1])
  }
}
