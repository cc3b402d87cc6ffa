// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyGrainFirst
import StepwiseTesting
import Testing

/// Each spelling of 0.2 to 0.6 compiles, and does what its arguments say.
@Suite(.timeLimit(.minutes(5)))
struct GrainFirstSpellingTests {
  let seen = Recorder<String>()

  @available(*, deprecated)
  func record<Result>(_ useResult: () throws -> Result) {
    do { seen.record("\(try useResult())") } catch { seen.record("error: \(error)") }
  }

  @available(*, deprecated)
  @Test func `A task is created from a closure or an error`() {
    Task { 1 }.map { $0 + 1 }.perform { useResult in record(useResult) }
    Task<Int>(Fault("no")).perform { useResult in record(useResult) }
    Task<Int>(Fault("no")).flatMap { useResult in Task { (try? useResult()) ?? 7 } }
      .perform { useResult in record(useResult) }
    switch Task({ 3 }) {
    case .unit(let useResult): record(useResult)
    case .future: seen.record("future")
    }
    #expect(seen.elements == ["2", "error: no", "7", "3"])
  }

  @available(*, deprecated)
  @Test func `A stage is part of another`() async {
    Outer.inner(.at(2)).execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == ["end"])
    Inner.at(0).mapNext { Outer.inner($0) }.perform { useResult in record(useResult) }
    #expect(seen.elements.last == "error: stageAlreadyCompleted(\(Inner.at(0)))")
    Composed.inner(.at(2)).execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 3).last == "4")
    ComposedOlder.inner(.at(2)).execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 4).last == "4")
  }

  @available(*, deprecated)
  @Test func `An execution is a task`() async {
    var customizer = GCDExecutionCustomizer<Inner>()
    customizer.completionService = .customQueue(DispatchQueue(label: "completion"))
    customizer.serviceForStage = { stage in
      switch stage {
      case .at(0): return .utility
      default: return .userInteractive
      }
    }
    Inner.at(1).taskExecuting(customizer: customizer).perform { useResult in record(useResult) }
    await seen.elements(atLeast: 1)
    Inner.at(1).taskExecuting()?.perform { useResult in record(useResult) }
    await seen.elements(atLeast: 2)
    Inner.at(1).createTask()?.perform { useResult in record(useResult) }
    await seen.elements(atLeast: 3)
    Counted.at(1).taskExecuting().perform { useResult in record(useResult) }
    await seen.elements(atLeast: 4)
    Counted.at(1).taskExecuting(GCDService.serial("own")).perform { useResult in record(useResult) }
    await seen.elements(atLeast: 5)
    (Counted.at(1) * GCDService.background).perform { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 6) == ["at(0)", "at(0)", "at(0)", "zero", "zero", "zero"])
  }

  @available(*, deprecated)
  @Test func `Work is done before and after`() {
    Task<Int>.future { resolve in resolve { 1 } }
      .withBefore(
        Task<Int>.future { resolve in
          seen.record("before")
          resolve { 0 }
        }
      )
      .withCleanUp(
        Task<Int>.future { resolve in
          seen.record("after")
          resolve { 0 }
        }
      )
      .perform { useResult in record(useResult) }
    #expect(seen.elements == ["before", "1", "after"])
  }

  @available(*, deprecated)
  @Test func `A service can be delayed or added`() async {
    var task = Task { 1 } + (GCDService.utility + 0.001)
    task += GCDService.mainQueue
    task.perform { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == ["1"])
  }

  @available(*, deprecated)
  @Test func `Several progressions run in a row`() async {
    [Counted.at(1), .failing, .at(0)].executeSerially(GCDService.utility) { useResults in
      for useResult in (try? useResults()) ?? [] { record(useResult) }
    }
    #expect(await seen.elements(atLeast: 3) == ["zero", "error: no", "zero"])
  }

  @available(*, deprecated)
  @Test func `A line runs stages in order`() async {
    let line = ProductionLine<Counted>(maxCount: 1, environment: Watching(seen: seen))
    line.suspend()
    line.add([.at(1), .failing])
    line.clearPending()
    line.add(.at(0))
    line.add([.at(1)])
    line.resume()
    #expect(await seen.elements(atLeast: 5) == ["at(0)", "done", "at(1)", "at(0)", "done"])
  }

  @available(*, deprecated)
  @Test func `A stage without a completion is an error`() async {
    Endless.start.execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1).allSatisfy { $0.hasPrefix("error: expectedCompletion") })
    #expect(throws: StageError<Endless>.self) { try Endless.start.requireCompletion() }
    Task { Endless.start }.ensureCompleted().perform { useResult in record(useResult) }
    #expect(seen.elements.count == 2)
  }
}

/// Stages in the words of 0.2.
@available(*, deprecated)
private enum Inner: StageProtocol, CustomStringConvertible {
  case at(Int)

  var nextTask: Task<Inner>? {
    switch self {
    case .at(0): nil
    case .at(let number): Task { .at(number - 1) }
    }
  }

  var description: String {
    switch self {
    case .at(let number): "at(\(number))"
    }
  }
}

@available(*, deprecated)
private enum Outer: StageProtocol {
  case inner(Inner)
  case end

  var nextTask: Task<Outer>? {
    switch self {
    case .inner(.at(0)): Task { .end }
    case .inner(let stage): stage.mapNext { .inner($0) }
    case .end: nil
    }
  }
}

/// Stages in the words of 0.6.
@available(*, deprecated)
private enum Counted: StageProtocol, CustomStringConvertible {
  typealias Result = String

  case at(Int)
  case failing
  case done

  func next() -> Deferred<Counted> {
    switch self {
    case .at(0): return Deferred { .done }
    case .at(let number): return Deferred { .at(number - 1) }
    case .failing: return Deferred { throw Fault("no") }
    case .done: completedStage(self)
    }
  }

  var result: String? { if case .done = self { "zero" } else { nil } }

  var description: String {
    switch self {
    case .at(let number): "at(\(number))"
    case .failing: "failing"
    case .done: "done"
    }
  }
}

@available(*, deprecated)
private enum Composed: StageProtocol {
  typealias Result = Int

  case inner(Counted)
  case end(Int)

  func next() -> Deferred<Composed> {
    guard case .inner(let stage) = self else { completedStage(self) }
    return stage.compose(
      transformNext: { .inner($0) },
      transformResult: { text in Deferred { .end(text.count) } }
    )
  }

  var result: Int? { if case .end(let count) = self { count } else { nil } }
}

/// The same in the words of 0.4, where the result became a stage and no task.
@available(*, deprecated)
private enum ComposedOlder: StageProtocol {
  typealias Result = Int

  case inner(Counted)
  case end(Int)

  func next() -> Task<ComposedOlder> {
    guard case .inner(let stage) = self else { completedStage(self) }
    return stage.compose(
      transformNext: { .inner($0) },
      transformResult: { text in ComposedOlder.end(text.count) }
    )
  }

  var result: Int? { if case .end(let count) = self { count } else { nil } }
}

/// Has no next stage and no completion, in the words of 0.3.
@available(*, deprecated)
private enum Endless: StageProtocol {
  typealias Completion = Int

  case start

  var nextTask: Task<Endless>? { nil }
  var completion: Int? { nil }
}

@available(*, deprecated)
private struct Watching: Environment {
  let seen: Recorder<String>

  func service<Stage: StageProtocol>(for stage: Stage) -> ServiceProtocol { GCDService.utility }
  func before<Stage: StageProtocol>(_ stage: Stage) { seen.record("\(stage)") }
}
