// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct FinallyTests {
  enum End: CaseIterable, Sendable { case value, error, cancelled, cancelledBefore, lateCancel }

  @TaskLocal private static var local = 0

  private static func perform(_ end: End) async throws -> Int {
    switch end {
    case .value: return 1
    case .error: throw Fault(1)
    case .cancelled:
      withUnsafeCurrentTask { $0?.cancel() }
      throw CancellationError()
    case .cancelledBefore: throw Fault(404)
    case .lateCancel:
      withUnsafeCurrentTask { $0?.cancel() }
      return 2
    }
  }

  private static func run(_ chain: Chain<End, Int>, _ end: End) async -> Result<Int, any Error> {
    await Task {
      if end == .cancelledBefore { withUnsafeCurrentTask { $0?.cancel() } }
      return await resultOf { try await chain.run(end) }
    }.value
  }

  // G12
  /// Newest first, each of them, regardless of the outcome; before the awaiting task continues.
  @Test(arguments: End.allCases)
  func `Each finally runs exactly once, newest first`(end: End) async {
    let log = Recorder<String>()
    var chain = Chain { (end: End) in try await Self.perform(end) }
    for number in 0..<4 { chain = chain.finally { log.record("\(number) \($0.brief)") } }
    let result = await Self.run(chain, end)
    let state =
      switch end {
      case .value: "resolved 1"
      case .error: "failed \(Fault(1))"
      case .cancelled, .cancelledBefore: "cancelled -"
      case .lateCancel: "resolved 2"
      }
    #expect(log.elements == (0..<4).reversed().map { "\($0) \(state)" })
    switch end {
    case .value, .lateCancel: #expect(result.brief.hasPrefix("success"))
    case .error: #expect(result.brief == "failure \(Fault(1))")
    case .cancelled, .cancelledBefore: #expect(result.brief == "failure CancellationError()")
    }
  }

  @Test func `finally receives the value`() async throws {
    let states = Recorder<Int?>()
    let chain = Chain { 5 }.finally { state in
      if case .resolved(let value) = state { states.record(value as? Int) }
    }
    #expect(try await chain.run() == 5)
    #expect(states.elements == [5])
  }

  // G12
  @Test func `finally runs once in each run`() async throws {
    let log = Recorder<Int>()
    let chain = Chain { (number: Int) in number }.finally { _ in log.record(1) }
    for number in 0..<50 {
      _ = try await chain.run(number)
      _ = try await chain.start(number).value
    }
    #expect(log.elements.count == 100)
  }

  // G13
  /// It may sleep although the run is cancelled, and although more cancels come meanwhile.
  @Test(arguments: [End.value, .error, .cancelled, .cancelledBefore, .lateCancel])
  func `finally is shielded from cancellation and may await`(end: End) async {
    let clock = ManualClock()
    let log = Recorder<String>()
    let chain = Chain { (end: End) in try await Self.perform(end) }
      .onError { _ in log.record("onError, cancelled: \(Task.isCancelled)") }
      .finally { _ in
        do {
          try await clock.sleep(until: clock.now.advanced(by: .seconds(1)))
          log.record("slept, cancelled: \(Task.isCancelled)")
        } catch {
          log.record("interrupted")
        }
      }
    let task = Task { await Self.run(chain, end) }
    await clock.sleepers(atLeast: 1)
    task.cancel()
    clock.advance(by: .seconds(1))
    _ = await task.value
    #expect(log.elements.last == "slept, cancelled: false")
    #expect(log.elements.count == (end == .error ? 2 : 1))
  }

  @Test func `A cancel does not reach a finally that awaits`() async throws {
    let clock = ManualClock()
    let log = Recorder<String>()
    let chain = Chain { 1 }.finally { _ in
      log.record((try? await clock.sleep(until: clock.now.advanced(by: .seconds(1)))) == nil ? "interrupted" : "slept")
    }
    let task = Task { try await chain.run() }
    await clock.sleepers(atLeast: 1)
    task.cancel()
    let run = chain.start()
    await clock.sleepers(atLeast: 2)
    #expect(!run.cancel(reason: "too late"))
    chain.cancelRuns(reason: "too late")
    chain.cancellationToken.cancel()
    clock.advance(by: .seconds(1))
    #expect(await task.result.brief == "success 1")
    #expect(await run.outcome.brief == "resolved 1")
    #expect(log.elements == ["slept", "slept"])
  }

  // G13
  @Test(arguments: [false, true])
  func `finally keeps priority and task-local values`(cancelled: Bool) async {
    let seen = Recorder<String>()
    let note: @Sendable () -> Void = { seen.record("\(Task.currentPriority.rawValue) \(Self.local)") }
    let chain = Chain { () -> Int in
      note()
      if cancelled { withUnsafeCurrentTask { $0?.cancel() } }
      throw Fault(1)
    }
    .onError { _ in note() }
    .finally { _ in note() }
    let around = Task(priority: .utility) {
      await Self.$local.withValue(7) {
        note()
        _ = await resultOf { try await chain.run() }
        _ = await chain.start().outcome
      }
    }
    // Waited for without `value`, which would raise the priority.
    let elements = await seen.elements(atLeast: cancelled ? 5 : 7)
    #expect(Set(elements).count == 1, "\(elements)")
    #expect(elements.first?.hasSuffix(" 7") == true)
    await around.value
  }

  /// The shield hides the tokens around the run as well, so that a chain which cleans up can run.
  @Test(arguments: ["task", "token around", "chain token", "handle"])
  func `A run inside finally works although the outer run is cancelled`(source: String) async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let cleanUp = Chain { 1 }.then { $0 + 1 }.then("c", undo: { _ in }) { $0 + 1 }
    let chain = Chain { () -> Int in
      try await turnstile.pass()
      return 1
    }
    .finally { state in
      let here = await resultOf { try await cleanUp.run() }
      let apart = await cleanUp.start().outcome
      log.record("\(state.brief): \(here.brief), \(apart.brief)")
    }
    let around = CancellationToken()
    let token = source == "chain token" ? chain.cancellationToken : nil
    let started = source == "handle" ? chain.start() : nil
    let task = Task {
      if let started {
        _ = await started.outcome
      } else {
        _ = try? await withCancellation(by: around) { try await chain.run() }
      }
    }
    await turnstile.visitors(atLeast: 1)
    switch source {
    case "task": task.cancel()
    case "token around": around.cancel(reason: source)
    case "chain token": token?.cancel(reason: source)
    default: started?.cancel(reason: source)
    }
    await task.value
    #expect(log.elements == ["cancelled \(source == "task" ? "-" : source): success 3, resolved 3"])
  }

  // G13
  @Test func `Undos may await although the run is cancelled`() async {
    let clock = ManualClock()
    let log = Recorder<String>()
    let chain = Chain { 1 }
      .then(
        "a",
        undo: { _ in
          log.record(
            (try? await clock.sleep(until: clock.now.advanced(by: .seconds(1)))) == nil ? "interrupted" : "undone"
          )
        }
      ) { $0 }
      .then { _ -> Int in
        withUnsafeCurrentTask { $0?.cancel() }
        throw CancellationError()
      }
    let task = Task { await resultOf { try await chain.run() } }
    await clock.sleepers(atLeast: 1)
    task.cancel()
    clock.advance(by: .seconds(1))
    #expect(await task.value.brief == "failure CancellationError()")
    #expect(log.elements == ["undone"])
  }
}
