// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyGrain
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
    } catch ResolverError.abandoned {
      seen.record("abandoned")
    } catch {
      seen.record("\(error)")
    }
  }

  // In the original each called the other until the stack was full.
  @available(*, deprecated)
  @Test func `A progression with neither method is an error`() async {
    Unwritten().execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == [#"notImplemented(type: "Unwritten")"#])
    Unwritten().next().perform { useNext in record(useNext) }
    #expect(seen.elements.count == 2)
    #expect(seen.elements.last == seen.elements.first)
  }

  // In the original it was as if nothing had happened, for ever.
  @available(*, deprecated)
  @Test func `A future that is never resolved is an error`() async {
    Forgetful.start.execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == ["abandoned"])
  }

  @available(*, deprecated)
  @Test func `A future that is resolved twice continues once`() async {
    Twice.start.execute { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 1) == ["1"])
  }

  @available(*, deprecated)
  @Test func `A completed stage stops the program`() async {
    await #expect(processExitsWith: .failure) { completedStage(Standstill.here(1)) }
  }
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
