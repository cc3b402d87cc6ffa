// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyElevate
import StepwiseTesting
import Testing

/// A task of one world in the other: a file uses one, so they stand in two files.
@Suite(.timeLimit(.minutes(5)))
struct ElevateCrossingTests {
  @available(*, deprecated)
  @Test func anOldTaskIsAwaitedAsANewOne() async throws {
    let old = OldScreen()
    #expect(try await NewJobs.length(of: old.length(of: "four")) == 4)
    #expect(old.screen.lines == ["old start", "old finish 4"])
  }

  @available(*, deprecated)
  @Test func anOldDeclarationIsLaunchedOnAnotherQueue() async throws {
    let old = OldScreen()
    #expect(try await NewJobs.run(old.declared(), with: "four") == 4)
    #expect(old.screen.lines == ["old finish 4 of four"])
  }

  @available(*, deprecated)
  @Test func aNewJobIsLaunchedByItsOldName() async {
    let (old, screen) = (OldScreen(), Screen())
    old.adopt(NewJobs.job(screen, telling: Recorder()))
    #expect(await old.launch("adopted", ["text": "four"]).ended() == false)
    #expect(screen.lines == ["new start", "new finish 4"])
  }

  @available(*, deprecated)
  @Test func theOldNameCancelsTheNewJob() async {
    let (old, screen, begun) = (OldScreen(), Screen(), Recorder<String>())
    old.adopt(NewJobs.job(screen, telling: begun))
    let task = old.launch("adopted", ["text": "endless"])
    await begun.elements(atLeast: 1)
    old.cancel("adopted")
    #expect(await task.ended())
    await letMainActorCatchUp()
    #expect(!screen.lines.contains { $0.hasPrefix("new finish") })
  }
}
