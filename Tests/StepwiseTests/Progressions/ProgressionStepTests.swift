// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// A progression as a step of a chain.
@Suite(.timeLimit(.minutes(5)))
struct ProgressionStepTests {
  @Test func `The result of a progression is the step's output`() async throws {
    let chain = Chain { (number: Int) in number + 1 }.appending(running: Countdown.at).then { $0.count }
    #expect(try await chain.run(2) == 6)
    #expect(try await chain.start(2).value == 6)
  }

  @Test func `Events contain the stages`() async throws {
    let pull = Recorder<String>()
    let chain = Chain { (number: Int) in number }
      .appending(running: { last in Scripted(last: last) { number in await pull.wait(for: "\(number)") } })
    let run = chain.start(3)
    var lines: [String] = []
    for await event in run.events {
      guard case .stageReached(let step, let stage) = event, let stage = stage as? Scripted else { continue }
      lines.append("\(step.index) \(stage.number)")
      pull.record("\(stage.number)")
    }
    // The last stage may be superseded by the end of its step.
    #expect(lines.prefix(3) == ["1 0", "1 1", "1 2"])
  }

  @Test func `A late consumer receives the newest stage`() async throws {
    let (entered, gate) = (Once<Void>(), Once<Void>())
    let run = Scripted(last: 3) { number in
      guard number == 2 else { return }
      entered.settle(())
      await gate.valueIgnoringCancellation()
    }.start()
    await entered.valueIgnoringCancellation()
    var first: [String] = []
    for await event in run.events {
      if case .stageReached(_, let stage) = event { first.append("\((stage as? Scripted)?.number ?? -1)") }
      if first.count == 1 { gate.settle(()) }
    }
    #expect(first.first == "2")
  }

  @Test func `Cancelling interrupts the stage`() async throws {
    let entered = Once<Void>()
    let log = Recorder<Int>()
    let chain = Chain { (number: Int) in number }
      .then { _ in
        Scripted { number in
          log.record(number)
          entered.settle(())
          await CancellationToken().waitForCancellation()
        }
      }
      .then { (stage: Scripted) in stage }
      .appending(running: { $0 })
    let run = chain.start(1)
    await entered.valueIgnoringCancellation()
    #expect(run.cancel(reason: "enough"))
    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("not cancelled")
      return
    }
    #expect(cancellation.reason == "enough")
    #expect(log.elements == [0])
  }

  /// A plain run cannot be interrupted from elsewhere; it stops at its next stage.
  @Test func `cancelRuns stops a plain run at its next stage`() async throws {
    let log = Recorder<Int>()
    let chainBox = Once<Chain<Int, Int>>()
    let chain = Chain { (number: Int) in number }.appending(running: { _ in
      Scripted { number in
        log.record(number)
        if number == 1 { await chainBox.valueIgnoringCancellation().cancelRuns(reason: "stop") }
      }
    })
    chainBox.settle(chain)
    await #expect(throws: CancellationError.self) { try await chain.run(1) }
    #expect(log.elements == [0, 1])
  }

  @Test func `An error of a stage can be recovered`() async throws {
    let chain = Chain { (number: Int) in number }
      .appending(running: { _ in Scripted { if $0 == 1 { throw Fault(1) } } })
      .recover { _ in 42 }
    #expect(try await chain.run(1) == 42)
  }

  @Test func `Stages report progress for their step`() async throws {
    let gate = Once<Void>()
    let run = Scripted(last: 1) { _ in
      StepProgress.report(0.5)
      await gate.valueIgnoringCancellation()
    }.start()
    for await progress in run.progress where progress.fractionCompleted == 0.5 { gate.settle(()) }
    #expect(try await run.value == 1)
  }

  /// A stage that an abandoned step reaches later does not bring the step back to life.
  @Test func `A stage reached after the end of its step is not shown`() async throws {
    let (gate, left) = (Once<Void>(), Once<Void>())
    let clock = ManualClock()
    let chain = Chain { (number: Int) in number }
      .appending(
        running: { _ in
          Scripted(last: 1) { _ in
            await gate.valueIgnoringCancellation()
          }
        }
      )
      .abandon(after: .seconds(1), clock: clock, discarding: { _ in left.settle(()) })
      .recover { _ in 0 }
      .then("wait") { _ in
        gate.settle(())
        await left.valueIgnoringCancellation()
        return 0
      }
    let run = chain.start(1)
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(1))
    _ = try await run.value
    var states: [String] = []
    for await event in run.events {
      if case .stageReached(let step, _) = event { states.append("\(step) reached") }
    }
    #expect(states.isEmpty)
  }

  @Test func `Stages run on the chain's executor`() async throws {
    let executor = CountingExecutor()
    let chain = Chain { (number: Int) in number }
      .appending(running: { _ in Scripted { _ in #expect(executor.isCurrent) } })
      .executor(executor)
    #expect(try await chain.run(1) == 3)
  }

  /// Its first stage has a step that can be undone.
  private struct Undoable: Progression {
    let log: Recorder<String>
    var isDone = false

    func next() async throws -> Undoable {
      let log = log
      try await step("copy") {
        log.record("copy")
      } undo: {
        log.record("undo")
      }
      return Undoable(log: log, isDone: true)
    }

    var result: Int? { isDone ? 1 : nil }
  }

  /// What each way to run a progression that no chain runs does with it.
  private static let ways: [(String, @Sendable (Undoable) async throws -> Void)] = [
    ("run", { stage in _ = try await stage.run() }),
    ("start", { stage in _ = try await stage.start().value }),
    ("execute", { stage in _ = try await stage.execute { _ in }.value }),
    ("stages", { stage in for try await _ in stage.stages {} }),
    ("shared", { stage in for try await _ in stage.stages.shared(.latest) {} }),
    (
      "line",
      { stage in
        let line = ProductionLine<Undoable>(maxConcurrent: 1)
        line.add(stage)
        line.finish()
        for await (_, result) in line.results { _ = try result.get() }
      }
    ),
  ]

  // G168
  @Test(arguments: ways.map(\.0)) func `A progression that no chain runs refuses undo`(way: String) async throws {
    let run = try #require(Self.ways.first { $0.0 == way }).1
    let log = Recorder<String>()
    let error = await #expect(throws: ChainError.self) { try await run(Undoable(log: log)) }
    #expect(error == .outsideRun)
    #expect("\(ChainError.outsideRun)".contains("appending(running:)"))
    #expect(log.elements.isEmpty)
  }

  // G168
  @Test func `A chain undoes what a progression that it runs has completed`() async throws {
    let log = Recorder<String>()
    let appended = Chain { 1 }.appending(running: { _ in Undoable(log: log) }).then { _ in throw Fault(1) }
    await #expect(throws: Fault(1)) { try await appended.run() }
    let inStep = Chain {
      _ = try await Undoable(log: log).run()
      for try await _ in Undoable(log: log).stages {}
      throw Fault(2)
    }
    await #expect(throws: Fault(2)) { try await inStep.start().value }
    #expect(log.elements == ["copy", "undo", "copy", "copy", "undo", "undo"])
  }

  @Test func `A chain that a stage runs undoes its own steps`() async throws {
    let log = Recorder<String>()
    let inner = Chain {
      try await step("inner") {
      } undo: {
        log.record("undo inner")
      }
      throw Fault(3)
    }
    await #expect(throws: Fault(3)) { try await Scripted { _ in try await inner.run() }.start().value }
    #expect(log.elements == ["undo inner"])
  }
}
