// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// `run`, `start` and `execute` of a progression.
@Suite(.timeLimit(.minutes(5)))
struct ProgressionRunTests {
  @Test func `run continues from any stage`() async throws {
    #expect(try await Countdown.at(3).run() == "landed")
    #expect(try await Countdown.at(0).run() == "landed")
    #expect(try await Countdown.landed("here").run() == "here")
  }

  @Test
  func `A progression that returns itself runs until it has a result`() async throws {
    #expect(try await Poll(polls: Tally(), enough: 20_000).run() == 20_000)
    #expect(try await Poll(polls: Tally(), enough: 20_000).map { $0 }.run() == 20_000)
  }

  // G93
  @Test func `The last stage has no next stage`() async throws {
    let error = try await #require(throws: CompletedError.self) { try await Countdown.landed("here").next() }
    #expect(error.description.hasPrefix("landed(\"here\")"))
  }

  @Test func `A stage's own error is thrown as it is`() async {
    await #expect(throws: Fault(2)) { try await Scripted { if $0 == 2 { throw Fault(2) } }.run() }
  }

  @Test
  func `Cancellation never discards the result of the last stage`() async throws {
    let task = Task {
      try await Scripted(last: 1) { _ in withUnsafeCurrentTask { $0?.cancel() } }.run()
    }
    #expect(try await task.value == 1)
    let finished = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await Countdown.landed("here").run()
    }
    #expect(try await finished.value == "here")
  }

  @Test func `start begins an unstructured run`() async throws {
    let run = Countdown.at(3).start()
    #expect(try await run.value == "landed")
    #expect(run.isFinished)
  }

  @Test func `A started run shows its stages in its events`() async throws {
    let gate = Once<Void>()
    let run = Scripted(last: 2) { if $0 == 1 { await gate.valueIgnoringCancellation() } }.start()
    var lines: [String] = []
    for await event in run.events {
      if case .stageReached(_, let stage) = event, let stage = stage as? Scripted {
        lines.append("stage \(stage.number)")
        if stage.number == 1 { gate.settle(()) }
      }
      if case .ended(let state) = event { lines.append("\(state)") }
    }
    #expect(lines.contains("stage 1"))
    #expect(lines.last == "succeeded with Int")
  }

  @Test func `A started run can be cancelled with a reason`() async throws {
    let entered = Once<Void>()
    let run = Scripted { _ in
      entered.settle(())
      await CancellationToken().waitForCancellation()
    }.start()
    await entered.valueIgnoringCancellation()
    #expect(run.cancel(reason: "enough"))
    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("not cancelled")
      return
    }
    #expect(cancellation.reason == "enough")
  }

  @Test func `execute gives the result by a function`() async {
    let results = Recorder<String>()
    Countdown.at(2).execute { useResult in
      do { results.record(try useResult()) } catch { results.record("\(error)") }
    }
    #expect(await results.elements(atLeast: 1) == ["landed"])
  }

  @Test func `execute throws the error where the result is used`() async {
    let results = Recorder<Fault?>()
    Scripted { _ in throw Fault(3) }.execute { useResult in
      do {
        _ = try useResult()
        results.record(nil)
      } catch { results.record(error as? Fault) }
    }
    #expect(await results.elements(atLeast: 1) == [Fault(3)])
  }

  // G95
  @Test(arguments: [TaskPriority?.none, .background, .high])
  func `execute runs at utility priority by default`(priority: TaskPriority?) async {
    let priorities = Recorder<TaskPriority>()
    let work = Scripted(last: 1) { _ in priorities.record(Task.basePriority ?? .unspecifiedForTest) }
    let completion: @Sendable (@Sendable () throws -> Int) async -> Void = { _ in
      priorities.record(Task.basePriority ?? .unspecifiedForTest)
    }
    if let priority {
      work.execute(priority: priority) { await completion($0) }
    } else {
      work.execute { await completion($0) }
    }
    let expected = priority ?? .utility
    #expect(await priorities.elements(atLeast: 2) == [expected, expected])
  }

  // G95
  @Test func `execute completes once for a cancelled run`() async {
    let entered = Once<Void>()
    let ends = Recorder<Bool>()
    let run = Scripted { _ in
      entered.settle(())
      await CancellationToken().waitForCancellation()
    }.execute { useResult in
      do { _ = try useResult() } catch { ends.record(error is CancellationError) }
    }
    await entered.valueIgnoringCancellation()
    run.cancel()
    #expect(await ends.elements(atLeast: 1) == [true])
  }

  @MainActor
  private final class Screen {
    let lineLog = LineLog()

    func open(log: Recorder<String>) {
      Countdown.at(1).execute { @MainActor [self] useResult in
        MainActor.assertIsolated()
        lineLog.write((try? useResult()) ?? "-")
        log.record(lineLog.lines[0])
      }
    }
  }

  @Test @MainActor func `The completion may be isolated to an actor`() async {
    let log = Recorder<String>()
    Screen().open(log: log)
    #expect(await log.elements(atLeast: 1) == ["landed"])
  }
}

extension TaskPriority {
  fileprivate static let unspecifiedForTest = TaskPriority(rawValue: 0)
}
