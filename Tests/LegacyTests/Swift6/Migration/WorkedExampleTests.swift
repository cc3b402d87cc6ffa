// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

/// The worked example of Migration.md: at each stage of the move the program does the same.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct WorkedExampleTests {
  private func check(_ stage: any ExampleStage.Type) async {
    let seen = Recorder<String>()
    let stage = stage.init(telling: seen)
    stage.openProfile(of: "Ann")
    #expect(await seen.elements(atLeast: 1) == ["profile: Ann"])
    stage.addFriend("Ann")
    #expect(await seen.elements(atLeast: 2) == ["profile: Ann", "friend: Ann"])
    stage.like()
    #expect(await seen.elements(atLeast: 3) == ["profile: Ann", "friend: Ann", "likes: true"])
  }

  @available(*, deprecated)
  @Test func theImportLinesHaveChanged() async { await check(ExampleStage1.self) }

  @available(*, deprecated)
  @Test func theWorkHasMoved() async { await check(ExampleStage2.self) }

  @available(*, deprecated)
  @Test func theScreenHasMoved() async { await check(ExampleStage3.self) }

  @available(*, deprecated)
  @Test func theFlowHasMovedBeforeTheScreen() async { await check(ExampleStage3Flow.self) }

  @Test func everythingHasMoved() async { await check(ExampleStage4.self) }
}
