// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyGrainFirst
import StepwiseTesting
import Testing

/// Where the stages and the completion of the first edition run.
///
/// The same source ran on Grain 0.2.0 and 0.6.0, and the expectations are what they did.
@Suite(.timeLimit(.minutes(5)))
struct GrainFirstMeaningTests {
  let seen = Recorder<String>()

  @available(*, deprecated)
  func record<Result>(_ useResult: () throws -> Result) {
    do {
      seen.record("\(try useResult()) in \(NamedQueue.current)")
    } catch {
      seen.record("error: \(error) in \(NamedQueue.current)")
    }
  }

  @available(*, deprecated)
  @Test func `The completion of execute is called in the main queue`() async {
    NamedQueue.name(.main, "main")
    Counting.at(2).execute { useResult in record(useResult) }
    await seen.elements(atLeast: 1)
    Counting.failing.execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 2) == ["at(0) in main", "error: no in main"])
  }

  @available(*, deprecated)
  @Test func `Later versions call the completion where the last stage runs`() async {
    NamedQueue.name(.main, "main")
    Reporting.at(2).execute { useResult in record(useResult) }
    await seen.elements(atLeast: 1)
    Reporting.at(2).execute(environment: GCDService.customQueue(NamedQueue.make("own")), completionService: nil) {
      useResult in record(useResult)
    }
    #expect(await seen.elements(atLeast: 2) == ["zero in another queue", "zero in own"])
  }

  @available(*, deprecated)
  @Test func `A customizer chooses each stage's queue and stops stages`() async {
    var customizer = GCDExecutionCustomizer<Counting>()
    let (odd, even) = (NamedQueue.make("odd"), NamedQueue.make("even"))
    customizer.serviceForStage = { stage in
      guard case .at(let number) = stage, number % 2 == 0 else { return GCDService.customQueue(odd) }
      return GCDService.customQueue(even)
    }
    customizer.completionService = GCDService.customQueue(NamedQueue.make("completion"))
    customizer.beforeStage = { stage in seen.record("\(stage) in \(NamedQueue.current)") }
    customizer.shouldStopStage = { stage in if case .at(0) = stage { true } else { false } }
    Counting.at(2).execute(customizer: customizer) { useResult in record(useResult) }

    let expected = ["at(2) in even", "at(1) in odd", "error: stopped in completion"]
    #expect(await seen.elements(atLeast: 3) == expected)
  }

  @available(*, deprecated)
  @Test func `An environment chooses each stage's queue and stops stages`() async {
    Reporting.at(3).execute(environment: Stopping(seen: seen), completionService: nil) { useResult in record(useResult)
    }
    let expected = ["at(3) in own", "at(2) in own", "error: stopped in own"]
    #expect(await seen.elements(atLeast: 3) == expected)
  }

  @available(*, deprecated)
  @Test func `Stages on a serial queue keep their order`() {
    let queue = DispatchQueue(label: "serial")
    var order: [Int] = []
    for number in 0..<5_000 {
      (Reporting.done * GCDService.customQueue(queue)).perform { _ in order.append(number) }
    }
    #expect(queue.sync { order } == Array(0..<5_000))
  }

  @available(*, deprecated)
  @Test func `A subroutine is called where its result is used`() async {
    let seen = seen
    let task = Task { seen.record(NamedQueue.current) } + GCDService.customQueue(NamedQueue.make("own"))
    task.perform { useResult in try? useResult() }
    #expect(await seen.elements(atLeast: 1) == ["own"])
    Task { seen.record("unused") }.perform { _ in seen.record("handler") }
    #expect(seen.elements == ["own", "handler"])
  }
}

/// Counts down, in the words of 0.2.
@available(*, deprecated)
private enum Counting: StageProtocol {
  case at(Int)
  case failing

  var nextTask: Task<Counting>? {
    switch self {
    case .at(0): nil
    case .at(let number): .unit { .at(number - 1) }
    case .failing: .unit { throw Fault("no") }
    }
  }
}

/// Counts down, in the words of 0.6.
@available(*, deprecated)
private enum Reporting: StageProtocol {
  typealias Result = String

  case at(Int)
  case done

  func next() -> Deferred<Reporting> {
    switch self {
    case .at(let number): return Deferred { number == 0 ? .done : .at(number - 1) }
    case .done: completedStage(self)
    }
  }

  var result: String? { if case .done = self { "zero" } else { nil } }
}

@available(*, deprecated)
private struct Stopping: Environment {
  let seen: Recorder<String>
  let own = NamedQueue.make("own")

  func service<Stage: StageProtocol>(for stage: Stage) -> ServiceProtocol { GCDService.customQueue(own) }
  func shouldStop<Stage: StageProtocol>(_ stage: Stage) -> Bool { "\(stage)" == "at(1)" }
  func before<Stage: StageProtocol>(_ stage: Stage) { seen.record("\(stage) in \(NamedQueue.current)") }
}
