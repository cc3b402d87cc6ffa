// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyGrain
import StepwiseTesting
import Testing

/// Progressions of the second edition.
@Suite(.timeLimit(.minutes(5)))
struct ProgressionTests {
  let seen = Recorder<String>()

  @available(*, deprecated)
  func record<Result>(_ useResult: () throws -> Result) {
    do { seen.record("\(try useResult())") } catch { seen.record("error: \(error)") }
  }

  @available(*, deprecated)
  @Test func `A progression executes to its result`() async {
    Countdown.at(3).execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == ["zero"])
    Countdown.failing.execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 2).last == "error: failing")
    Countdown.at(0).execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 3).last == "zero")
  }

  @available(*, deprecated)
  @Test func `A progression updates in place or defers`() async {
    UpdatingCountdown(number: 25).execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == ["zero"])
    UpdatingCountdown(number: -1).execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 2).last == "error: below zero")
  }

  @available(*, deprecated)
  @Test func `Each of the two methods is derived from the other`() async throws {
    UpdatingCountdown(number: 10).next().perform { useNext in record { try useNext().number } }
    UpdatingCountdown(number: 9).next().perform { useNext in record { try useNext().number } }
    #expect(await seen.elements(atLeast: 2).sorted() == ["8", "9"])
    var stage = Countdown.at(1)
    try stage.updateOrDeferNext()?.perform { useNext in record(useNext) }
    #expect(seen.elements.last == "at(0)")
    #expect(stage == .at(1))
  }

  @available(*, deprecated)
  @Test func `Progressions compose in the older spelling`() async {
    let stages = Recorder<String>()
    TwoCountdowns.first(.at(1)).deferred(performer: .global()) { stage in
      stages.record("\(stage)")
      return true
    } >>= { useResult in record(useResult) }

    #expect(await seen.elements(atLeast: 1) == ["second zero"])
    let all = ["at(1)", "at(0)"].map { "first(LegacyTests.Countdown.\($0))" }
    #expect(stages.elements.prefix(2) == ArraySlice(all))
    #expect(stages.elements.count == 6)
  }

  @available(*, deprecated)
  @Test func `Progress stops between stages`() async {
    let stages = Recorder<Int>()
    Countdown.at(5).deferred(performer: { work in DispatchQueue.global().async(execute: work) }) { stage in
      guard case .at(let number) = stage else { return false }
      stages.record(number)
      return number > 3
    } >>= { useResult in record(useResult) }

    #expect(await seen.elements(atLeast: 1) == ["error: cancelled"])
    #expect(stages.elements == [5, 4, 3])
  }

  @available(*, deprecated)
  @Test func `Progress stops at the last stage, too`() async {
    Countdown.at(0).deferred(performer: .global()) { _ in false }.perform { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == ["error: cancelled"])
  }

  @available(*, deprecated)
  @Test func `Stages and the completion run where the performer says`() async {
    let key = DispatchSpecificKey<String>()
    let queue = DispatchQueue(label: "queue")
    queue.setSpecific(key: key, value: "queue")
    let here: @Sendable () -> String = { DispatchQueue.getSpecific(key: key) ?? "none" }
    let stages = Recorder<String>()
    let tell: @Sendable () -> Void = { stages.record(here()) }

    Telling.at(2, tell).execute(on: queue) { _ in seen.record(here()) }
    await seen.elements(atLeast: 1)
    Telling.at(2, tell).execute(performer: { work in queue.async(execute: work) }) { _ in seen.record(here()) }
    await seen.elements(atLeast: 2)
    (Telling.at(2, tell) / queue).perform { _ in seen.record(here()) }
    await seen.elements(atLeast: 3)
    #expect(seen.elements == ["queue", "queue", "queue"])
    #expect(stages.elements == Array(repeating: "queue", count: 6))
    (Telling.at(1, tell) / .utility).perform { _ in seen.record(here()) }
    #expect(await seen.elements(atLeast: 4).last == "none")
    #expect(stages.elements.last == "none")
  }

  @available(*, deprecated)
  @Test func `Results of progressions are transformed`() async {
    Countdown.at(1).map { $0 + "!" }.perform { useResult in record(useResult) }
    Countdown.at(1).flatMap { text in Deferred { text + "?" } }.perform { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 2).sorted() == ["zero!", "zero?"])
  }

  @available(*, deprecated)
  @Test func `Several progressions run in a row`() async {
    let stages = [Countdown.at(2), .at(0), .at(1)]
    stages.serially(on: DispatchQueue.global()).perform { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == [#"["zero", "zero", "zero"]"#])
    stages.serially(on: { work in DispatchQueue.global().async(execute: work) }) >>= { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 2).last == #"["zero", "zero", "zero"]"#)
    let performer: AsyncPerformer = { work in DispatchQueue.global().async(execute: work) }
    Serial.start(stages: [Countdown.at(1), .failing, .at(1)], performer: performer)
      .execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 3).last == "error: failing")
    Serial.start(stages: [Countdown](), performer: performer).execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 4).last == "[]")
    Serial.running(
      remainingStages: [Countdown.at(1)],
      activeStage: .at(0),
      completedSoFar: ["before"],
      performer: performer
    )
    .execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 5).last == #"["before", "zero", "zero"]"#)
  }
}

/// Counts down, and calls a function at each stage.
@available(*, deprecated)
enum Telling: Progression, CustomStringConvertible {
  case at(Int, @Sendable () -> Void)

  func next() -> Deferred<Telling> {
    guard case .at(let number, let tell) = self else { completedStage(self) }
    return Deferred {
      tell()
      return .at(number - 1, tell)
    }
  }

  var result: Bool? {
    if case .at(0, _) = self { true } else { nil }
  }

  var description: String {
    switch self {
    case .at(let number, _): "at(\(number))"
    }
  }
}
