// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

/// A progression of one world in the other: a file uses one, so the progressions stand in files of their own.
@Suite(.timeLimit(.minutes(5)))
struct GrainCrossingTests {
  @available(*, deprecated)
  @Test func `An old progression runs as a new one`() async throws {
    #expect(try await NewProgressions.run(Countdown.at(2).modern) == "zero")
    #expect(try await NewProgressions.stageCount(Countdown.at(2).modern) == 3)
    await #expect(throws: Fault("failing")) { try await NewProgressions.run(Countdown.failing.modern) }
  }

  @available(*, deprecated)
  @Test func `A new progression is a stage of an old one`() async throws {
    let seen = Recorder<String>()
    NewProgressions.halving(12).legacy.execute { useResult in
      seen.record((try? useResult()) ?? "error")
    }
    #expect(await seen.elements(atLeast: 1) == ["odd: 3"])
    NewProgressions.halving(0).legacy.execute { useResult in
      do { seen.record(try useResult()) } catch { seen.record("\(error)") }
    }
    #expect(await seen.elements(atLeast: 2).last == "zero has no end")
  }
}
