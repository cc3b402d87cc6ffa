// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyGrain
import LegacyGrainFirst
import Stepwise
import StepwiseTesting
import Testing

/// Where the original had a defect, and the new behaviour holds.
///
/// The one of the production line is among its tests.
@Suite(.timeLimit(.minutes(5)))
struct GrainDefectTests {
  let seen = Recorder<String>()

  func record<Result>(_ useResult: () throws -> Result) {
    do {
      seen.record("\(try useResult())")
    } catch Stepwise.ProgressionError.stuck {
      seen.record("stuck")
    } catch let error as ResolverError {
      seen.record("\(error.code)")
    } catch {
      seen.record("\(error)")
    }
  }

  // The original went on with it for ever.
  @available(*, deprecated)
  @Test func aStageThatReturnsItselfForEverIsStuck() async {
    Standstill.here(1).execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == ["stuck"])
  }

  @available(*, deprecated)
  @Test func aStageThatUpdatesNothingForEverIsStuck() async {
    Idle().execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == ["stuck"])
  }

  @available(*, deprecated)
  @Test func aStageOfTheFirstEditionThatReturnsItselfForEverIsStuck() async {
    FirstStandstill.here.execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == ["stuck"])
  }

  // In the original each called the other until the stack was full.
  @available(*, deprecated)
  @Test func aProgressionWithNeitherMethodIsAnError() async {
    Unwritten().execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == [#"notImplemented(type: "Unwritten")"#])
    Unwritten().next().perform { useNext in record(useNext) }
    #expect(seen.elements.count == 2)
    #expect(seen.elements.last == seen.elements.first)
  }

  // In the original it was as if nothing had happened, for ever.
  @available(*, deprecated)
  @Test func aFutureThatIsNeverResolvedIsAnError() async {
    Forgetful.start.execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == ["abandoned"])
  }

  @available(*, deprecated)
  @Test func aFutureThatIsResolvedTwiceGoesOnOnce() async {
    Twice.start.execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == ["1"])
  }

  @available(*, deprecated)
  @Test func completedStageStopsTheProgram() async {
    await #expect(processExitsWith: .failure) { completedStage(Standstill.here(1)) }
  }

  /// A stage whose equality starts the runner that compares it.
  private struct Comparing: Equatable {
    static let runner = Lock<StageRunner<Comparing, Int>?>(nil)
    let number: Int

    static func == (left: Comparing, right: Comparing) -> Bool {
      let runner = runner.withLock { runner in exchange(&runner, with: nil) }
      runner?.start(Comparing(number: 1_000))
      return left.number == right.number
    }
  }

  // The runner would end the process: its lock would be taken twice.
  @Test("Stages are compared outside the lock of the runner")
  func stagesAreComparedOutsideTheLock() async {
    await #expect(processExitsWith: .success) {
      let runner = StageRunner<Comparing, Int>(
        performer: { _ in Performer { work in work() } },
        visit: { stage in
          guard stage.number < 200 else { return .result { stage.number } }
          return .next { useNext in useNext { Comparing(number: stage.number + 1) } }
        },
        complete: { _ in }
      )
      Comparing.runner.withLock { $0 = runner }
      runner.start(Comparing(number: 0))
      #expect(Comparing.runner.withLock { $0 == nil })
    }
  }
}

@available(*, deprecated)
private enum FirstStandstill: StageProtocol {
  case here

  var nextTask: LegacyGrainFirst.Task<FirstStandstill>? { .unit { .here } }
}

@available(*, deprecated)
private enum Forgetful: LegacyGrain.Progression {
  case start

  func next() -> LegacyGrain.Deferred<Forgetful> { LegacyGrain.Deferred.future { _ in } }

  var result: Int? { nil }
}

@available(*, deprecated)
private enum Twice: LegacyGrain.Progression {
  case start
  case end(Int)

  func next() -> LegacyGrain.Deferred<Twice> {
    LegacyGrain.Deferred.future { resolve in
      resolve { .end(1) }
      resolve { .end(2) }
    }
  }

  var result: Int? {
    if case .end(let number) = self { number } else { nil }
  }
}
