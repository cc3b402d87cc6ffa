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
}
