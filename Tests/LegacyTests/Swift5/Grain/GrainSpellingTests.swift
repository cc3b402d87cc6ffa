// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyGrain
import StepwiseTesting
import Testing

/// Each spelling of the second edition compiles, and does what its arguments say.
@Suite(.timeLimit(.minutes(5)))
struct GrainSpellingTests {
  let seen = Recorder<String>()
  let queue = NamedQueue.make("queue")

  @available(*, deprecated)
  @Test func `A deferred is a unit or a future`() {
    for deferred in [Deferred { 1 }, Deferred.future { resolve in resolve { 2 } }] {
      switch deferred {
      case .unit(let useResult): seen.record("unit \((try? useResult()) ?? 0)")
      case .future(let request): request { useResult in seen.record("future \((try? useResult()) ?? 0)") }
      }
    }
    #expect(seen.elements == ["unit 1", "future 2"])
  }

  @available(*, deprecated)
  @Test func `A queue and a closure are a closure`() async {
    let run: (()) -> Void = queue + { seen.record(NamedQueue.current) }
    let global: (Int) -> Void = .utility + { number in seen.record("\(number)") }
    #expect(seen.elements.isEmpty)
    run(())
    await seen.elements(atLeast: 1)
    global(2)
    #expect(await seen.elements(atLeast: 2) == ["queue", "2"])
  }

  @available(*, deprecated)
  @Test func `resolve and its error have names`() {
    let errors = Deferred<Int>.Error.underlyingErrors([Fault("first"), Fault("second")])
    let resolve: Deferred<Int>.Resolve = { useResult in
      do { _ = try useResult() } catch Deferred<Int>.Error.underlyingErrors(let all) {
        seen.record("\(all.count)")
      } catch {}
    }
    resolve { throw errors }
    #expect(seen.elements == ["2"])
  }

  @available(*, deprecated)
  @Test func `A progression is deferred to a queue`() async {
    Countdown.at(1).deferred(queue: queue).perform { useResult in
      seen.record("\((try? useResult()) ?? "") \(NamedQueue.current)")
    }
    #expect(await seen.elements(atLeast: 1) == ["zero queue"])
  }

  @available(*, deprecated)
  @Test func `The cases of serial name their performer`() async {
    Serial.start(stages: [Countdown.at(2), .at(0)], performer: { work in work() })
      .deferred(queue: queue) { stage in
        switch stage {
        case .start(let stages, performer: _): seen.record("start \(stages.count)")
        case .running(let remainingStages, let activeStage, let completedSoFar, performer: _):
          seen.record("\(remainingStages.count) \(activeStage) \(completedSoFar)")
        case .completed(let results): seen.record("\(results)")
        }
        return true
      }
      .perform { _ in seen.record("end") }
    let expected = ["start 2", "1 at(2) []", #"0 at(0) ["zero"]"#, #"["zero", "zero"]"#, "end"]
    #expect(await seen.elements(atLeast: 5) == expected)
  }
}
