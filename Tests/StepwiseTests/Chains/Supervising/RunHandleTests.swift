// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// The handle of a run that was begun by `start`.
@Suite(.timeLimit(.minutes(5)))
struct RunHandleTests {
  @Test func `A handle has value and outcome and says when it is finished`() async throws {
    let turnstile = Turnstile()
    let run = Chain { (number: Int) in
      await turnstile.passWhateverHappens()
      return number
    }.start(3)
    #expect(!run.isFinished)
    turnstile.open()
    #expect(try await run.value == 3)
    #expect(run.isFinished)
    #expect(try await run.value == 3)
    #expect(await run.outcome.brief == "resolved 3")
    #expect(run.undoErrors.isEmpty)
  }

  // G20
  /// One waiter's cancel does not cancel a shared result.
  @Test
  func `Cancelling a task that awaits value does not affect the run`() async throws {
    let turnstile = Turnstile()
    let run = Chain { () in
      try await turnstile.pass()
      return 1
    }.start()
    let impatient = Task { try await run.value }
    let patient = Task { try await run.value }
    await turnstile.visitors(atLeast: 1)
    impatient.cancel()
    #expect(await impatient.result.brief == "failure CancellationError()")
    #expect(!run.isFinished)
    turnstile.open()
    #expect(try await patient.value == 1)
    #expect(try await run.value == 1)
  }

  // G20
  @Test
  func `The wait for outcome ignores cancellation of the waiting task`() async {
    let turnstile = Turnstile()
    let run = Chain { () in
      try await turnstile.pass()
      return 1
    }.start()
    let waiting = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await run.outcome
    }
    await turnstile.visitors(atLeast: 1)
    waiting.cancel()
    turnstile.open()
    #expect(await waiting.value.brief == "resolved 1")
  }

  @Test func `A finished run gives its value to a cancelled task, too`() async {
    let run = Chain { 1 }.start()
    _ = await run.outcome
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await run.value
    }
    #expect(await task.result.brief == "success 1")
  }

  // G19
  @Test func `Releasing the handle cancels nothing`() async {
    let turnstile = Turnstile()
    let states = Recorder<String>()
    let chain = Chain { () in
      try await turnstile.pass()
      return 1
    }
    .finally { states.record($0.brief) }
    weak var handle: Run<Int>?
    do {
      let run = chain.start()
      handle = run
    }
    await turnstile.visitors(atLeast: 1)
    #expect(handle == nil)
    turnstile.open()
    #expect(await states.elements(atLeast: 1) == ["resolved 1"])
  }

  @Test func `A run retains its chain`() async throws {
    let turnstile = Turnstile()
    let run = Chain { () in await turnstile.passWhateverHappens() }.then { 2 }.start()
    await turnstile.visitors(atLeast: 1)
    turnstile.open()
    #expect(try await run.value == 2)
  }

  // G21
  @Test func `The completion handler is called once for every end`() async {
    let results = Recorder<String>()
    let turnstile = Turnstile()
    let chain = Chain { (number: Int) in
      if number == 1 { throw Fault(1) }
      if number == 2 { try await turnstile.pass() }
      return number
    }
    .finally { results.record("finally \($0.brief)") }
    for number in 0..<3 {
      let run = chain.start(number) { result in
        results.record("\(result.brief), cancelled: \(Task.isCancelled)")
      }
      if number == 2 {
        await turnstile.visitors(atLeast: 1)
        run.cancel(reason: "left")
      }
      await results.elements(atLeast: number * 2 + 2)
    }
    #expect(
      results.elements == [
        "finally resolved 0", "success 0, cancelled: false",
        "finally failed \(Fault(1))", "failure \(Fault(1)), cancelled: false",
        "finally cancelled left", "failure CancellationError(), cancelled: false",
      ]
    )
  }

  @Test func `A run that awaits itself gets an error, not a deadlock`() async throws {
    let handle = Watched<Run<Int>?>(nil)
    let log = Recorder<String>()
    let chain = Chain { () -> Int in
      await handle.wait { $0 != nil }
      guard let run = handle.read({ $0 }) else { return 0 }
      log.record(await resultOf { try await run.value }.brief)
      log.record(await run.outcome.brief)
      return 5
    }
    .finally { _ in
      guard let run = handle.read({ $0 }) else { return }
      log.record(await resultOf { try await run.value }.brief)
    }
    let run = chain.start()
    handle.mutate { $0 = run }
    #expect(try await run.value == 5)
    let error = "\(ChainError.reentrant)"
    #expect(log.elements == ["failure \(error)", "failed \(error)", "failure \(error)"])
  }

  /// Such a task does not belong to the run.
  @Test func `A detached task in a step or a handler may await the run`() async throws {
    let handle = Watched<Run<Int>?>(nil)
    let log = Recorder<String>()
    let watch: @Sendable () async -> Void = {
      await handle.wait { $0 != nil }
      guard let run = handle.read({ $0 }) else { return }
      log.record(await run.outcome.brief)
      log.record(await resultOf { try await run.value }.brief)
    }
    let chain = Chain { () -> Int in
      Task.detached { await watch() }
      return 5
    }
    .finally { _ in Task.detached { await watch() } }
    let run = chain.start()
    handle.mutate { $0 = run }
    await log.elements(atLeast: 4)
    #expect(log.elements.sorted() == ["resolved 5", "resolved 5", "success 5", "success 5"])
  }

  // G19
  /// A handle is often a property of what the chain's closures hold.
  @Test(arguments: [false, true]) func `A finished run retains nothing of its chain`(isObserved: Bool) async {
    let tracker = LifetimeTracker()
    let run = Chain("first") { [object = tracker.track()] (number: Int) in
      withExtendedLifetime(object) { number }
    }
    .then(undo: { [object = tracker.track()] _ in withExtendedLifetime(object) {} }) { $0 + 1 }
    .onError { [object = tracker.track()] _ in withExtendedLifetime(object) {} }
    .finally { [object = tracker.track()] _ in withExtendedLifetime(object) {} }
    .start(1)
    if isObserved { for await _ in run.events {} }
    #expect(await run.outcome.brief == "resolved 2")
    await tracker.allReleased()
    #expect(tracker.made == 4 && tracker.alive == 0)
    #expect(await briefEvents(of: run).contains("begin first"))
    _ = run
  }

  /// A Task that lives on keeps the step's own captures, and no more.
  @Test func `A task created in a step retains nothing of the chain`() async {
    let tracker = LifetimeTracker()
    let end = Once<Void>()
    let tasks = Recorder<Task<Void, Never>>()
    let run = Chain { [object = tracker.track()] (number: Int) in
      withExtendedLifetime(object) { tasks.record(Task { await end.valueIgnoringCancellation() }) }
    }
    .start(1)
    _ = await run.outcome
    await tracker.allReleased()
    #expect(tracker.alive == 0)
    end.settle(())
    for task in tasks.elements { await task.value }
  }

  /// A waiter of a higher priority raises the run's priority.
  @Test func `Awaiting the value escalates the run's priority`() async throws {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
    let begun = Once<Void>()
    let chain = Chain { () -> TaskPriority in
      begun.settle(())
      while Task.currentPriority < .high { await Task.yield() }
      return Task.currentPriority
    }
    let run = await Task(priority: .utility) { chain.start() }.value
    await begun.valueIgnoringCancellation()
    let seen = try await Task(priority: .high) { try await run.value }.value
    #expect(seen >= .high)
  }

  @Test func `A handler that cancels its own run changes nothing`() async {
    let handle = Watched<Run<Int>?>(nil)
    let log = Recorder<Bool?>()
    let chain = Chain { () -> Int in
      await handle.wait { $0 != nil }
      return 3
    }
    .finally { _ in log.record(handle.read { $0 }?.cancel(reason: "itself")) }
    let run = chain.start()
    handle.mutate { $0 = run }
    #expect(await run.outcome.brief == "resolved 3")
    #expect(log.elements == [false])
  }

  @Test func `A step that cancels its own run ends it`() async {
    let handle = Watched<Run<Int>?>(nil)
    let chain = Chain { () in
      await handle.wait { $0 != nil }
      handle.read { $0 }?.cancel(reason: "itself")
    }
    .then { 3 }
    let run = chain.start()
    handle.mutate { $0 = run }
    #expect(await run.outcome.brief == "cancelled itself")
  }
}
