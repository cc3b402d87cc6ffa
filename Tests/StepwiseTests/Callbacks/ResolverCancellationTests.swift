// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Cancelling what waits for a callback.
@Suite(.timeLimit(.minutes(5)))
struct ResolverCancellationTests {
  private let log = Recorder<String>()
  private let kept = Recorder<Resolver<Int>>()

  /// Waits for a callback that never comes.
  private var waiting: Chain<Int, Int> {
    Chain(
      Step.callback("callback") { [log, kept] (_: Int, resolver: Resolver<Int>) in
        resolver.onCancel { reason in log.record("first \(reason ?? "-")") }
        resolver.onCancel { reason in log.record("second \(reason ?? "-")") }
        resolver.onLateValue { value in log.record("late \(value)") }
        kept.record(resolver)
      }
    )
    .finally { [log] state in log.record("finally \(state.summary)") }
  }

  // G87
  @Test func `A cancelled step ends once its handlers have returned`() async {
    let run = waiting.start(1)
    await kept.elements(atLeast: 1)
    #expect(run.cancel(reason: "left"))
    #expect(await run.outcome.cancellation?.reason == "left")
    #expect(log.elements == ["first left", "second left", "finally cancelled left"])
  }

  /// The step ends only when they have returned, on whatever thread they run.
  @Test func `A cancelled step waits for a slow handler`() async {
    let task = Task { [kept, log] in
      defer { log.record("step ended") }
      return try await withResolver { (resolver: Resolver<Int>) in
        resolver.onCancel { _ in
          log.record("handler begins")
          for _ in 0..<20_000 { yieldThread() }
          log.record("handler ends")
        }
        kept.record(resolver)
      }
    }
    await kept.elements(atLeast: 1)
    await onForeignThread { task.cancel() }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.elements == ["handler begins", "handler ends", "step ended"])
  }

  // G87
  @Test func `A late value goes to its handler once`() async {
    let run = waiting.start(1)
    let resolver = await kept.elements(atLeast: 1)[0]
    run.cancel()
    _ = await run.outcome
    #expect(await onForeignThread { resolver.resolve(7) } == false)
    #expect(log.elements.last == "late 7")
  }

  @Test func `A late error is not a late value`() async {
    let run = waiting.start(1)
    let resolver = await kept.elements(atLeast: 1)[0]
    run.cancel()
    _ = await run.outcome
    #expect(!resolver.fail(Fault(1)))
    #expect(!log.elements.contains { $0.hasPrefix("late") })
  }

  @Test func `A late value without a handler is dropped`() async {
    let task = Task { [kept] in try await withResolver { (resolver: Resolver<Int>) in kept.record(resolver) } }
    let resolver = await kept.elements(atLeast: 1)[0]
    task.cancel()
    _ = await task.result
    #expect(!resolver.resolve(7))
  }

  @Test func `A late value handler may be set after the cancel`() async {
    let run = waiting.start(1)
    let resolver = await kept.elements(atLeast: 1)[0]
    run.cancel()
    _ = await run.outcome
    resolver.onLateValue { [log] value in log.record("newer \(value)") }
    resolver.resolve(7)
    #expect(log.elements.last == "newer 7")
  }

  /// The first call after a timeout is late, too.
  @Test func `A value after a timeout is late`() async {
    let clock = ManualClock()
    let step = Step.callback("slow") { [log, kept] (_: Int, resolver: Resolver<Int>) in
      resolver.onCancel { reason in log.record("cancelled \(reason ?? "-")") }
      resolver.onLateValue { value in log.record("late \(value)") }
      kept.record(resolver)
    }
    let run = Chain(step.timeout(.seconds(5), clock: clock)).start(1)
    let resolver = await kept.elements(atLeast: 1)[0]
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(5))
    let error = await #expect(throws: TimeoutError.self) { try await run.value }
    #expect(error?.step == "slow")
    #expect(!resolver.resolve(7))
    #expect(log.elements == ["cancelled -", "late 7"])
  }

  @Test func `A resolver released after the cancel is not abandoned`() async {
    let run = Chain(
      Step.callback { [log] (_: Int, resolver: Resolver<Int>) in
        log.record("waits")
        resolver.onCancel { _ in withExtendedLifetime(resolver) {} }
      }
    ).start(1)
    await log.elements(atLeast: 1)
    run.cancel(reason: "left")
    let cancellation = await run.outcome.cancellation
    #expect(cancellation?.reason == "left")
    #expect(cancellation?.underlyingError == nil)
  }

  @Test func `A handler may use the resolver and cancel`() async {
    let runs = Recorder<Run<Int>>()
    let chain = Chain(
      Step.callback { [kept, log] (_: Int, resolver: Resolver<Int>) in
        resolver.onCancel { [weak resolver] _ in
          log.record("cancel \(runs.elements[0].cancel())")
          log.record("resolve \(resolver?.resolve(7) == true)")
          resolver?.onCancel { reason in log.record("inner \(reason ?? "-")") }
        }
        kept.record(resolver)
      }
    )
    let run = chain.start(1)
    runs.record(run)
    await kept.elements(atLeast: 1)
    run.cancel(reason: "left")
    #expect(await run.outcome.cancellation?.reason == "left")
    #expect(log.elements == ["cancel false", "resolve false", "inner left"])
  }

  @Test func `Cancel handlers are not called after the call`() async throws {
    let value = try await withResolver { [log] (resolver: Resolver<Int>) in
      resolver.onCancel { _ in log.record("cancelled") }
      resolver.resolve(7)
      withUnsafeCurrentTask { $0?.cancel() }
    }
    #expect(value == 7)
    #expect(log.elements.isEmpty)
  }

  // MARK: - Until the body returns

  // G88
  /// Until the body returns, a cancel reaches it as Task cancellation only.
  @Test func `A cancel reaches an async body as task cancellation only`() async {
    let gate = Recorder<Int>()
    let task = Task { [log, kept] in
      try await withResolver { (resolver: Resolver<Int>) in
        resolver.onCancel { _ in log.record("handler") }
        kept.record(resolver)
        await Task { _ = await gate.elements(atLeast: 1) }.value
        log.record("body ends, cancelled \(Task.isCancelled)")
      }
    }
    await kept.elements(atLeast: 1)
    task.cancel()
    #expect(log.elements.isEmpty)
    gate.record(1)
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.elements == ["body ends, cancelled true", "handler"])
  }

  @Test func `A call before a cancelled body returns wins`() async throws {
    let task = Task { [log] in
      try await withResolver { (resolver: Resolver<Int>) in
        resolver.onCancel { _ in log.record("handler") }
        withUnsafeCurrentTask { $0?.cancel() }
        #expect(resolver.resolve(7))
      }
    }
    #expect(try await task.value == 7)
    #expect(log.elements.isEmpty)
  }

  @Test
  func `A cancelled body's error is thrown after the handlers return`() async {
    let task = Task { [log] in
      try await withResolver { (resolver: Resolver<Int>) in
        resolver.onCancel { _ in log.record("handler") }
        withUnsafeCurrentTask { $0?.cancel() }
        throw Fault(7)
      }
    }
    await #expect(throws: Fault(7)) { try await task.value }
    #expect(log.elements == ["handler"])
  }

  @Test func `In a cancelled task the body runs and the wait ends immediately`() async {
    let task = Task { [log] in
      withUnsafeCurrentTask { $0?.cancel() }
      return try await withResolver { (resolver: Resolver<Int>) in
        log.record("body")
        resolver.onCancel { _ in withExtendedLifetime(resolver) { log.record("handler") } }
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.elements == ["body", "handler"])
  }

  // MARK: - Many

  /// 10,000 runs, each waiting on a callback that never comes, end by one token.
  @Test func `One token ends ten thousand waiting runs`() async {
    let count = 10_000
    let (entered, cancelled, finished) = (Tally(), Tally(), Tally())
    let all = Recorder<Int>()
    let chain = Chain(
      Step.callback { [kept] (_: Int, resolver: Resolver<Int>) in
        resolver.onCancel { _ in cancelled.add(1) }
        kept.record(resolver)
        if entered.increment() == count { all.record(1) }
      }
    )
    .finally { _ in finished.add(1) }
    let runs = (0..<count).map { chain.start($0) }
    await all.elements(atLeast: 1)
    chain.cancellationToken.cancel(reason: "all")
    for run in runs {
      let reason = await run.outcome.cancellation?.reason
      if reason != "all" { Issue.record("\(reason ?? "-")") }
    }
    #expect(cancelled.total == count)
    #expect(finished.total == count)
  }
}
