// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// The work of `abandon` has a Task of its own, whose priority is that of the run.
@Suite(.timeLimit(.minutes(5)))
struct AbandonPriorityTests {
  private func abandoned(
    _ work: @escaping @Sendable () async -> TaskPriority
  ) -> Chain<Void, TaskPriority> {
    Chain { () in await work() }.abandon(after: .seconds(5), clock: ManualClock())
  }

  @Test(arguments: [TaskPriority.background, .utility])
  func `The work starts with the priority of the run`(priority: TaskPriority) async throws {
    let seen = Recorder<TaskPriority>()
    let chain = abandoned {
      seen.record(Task.currentPriority)
      return Task.currentPriority
    }
    // Awaited without `value`, which would raise the priority.
    _ = Task.detached(priority: priority) { try await chain.run() }
    #expect(await seen.elements(atLeast: 1) == [priority])
  }

  @Test
  func `The work follows a run whose priority is raised`() async throws {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
    let begun = Once<Void>()
    let chain = abandoned {
      begun.settle(())
      // On a busy machine, the task that awaits the run may begin late.
      let end = ContinuousClock.now.advanced(by: .seconds(120))
      while Task.currentPriority < .high, .now < end { await Task.yield() }
      return Task.currentPriority
    }
    let run = await Task(priority: .utility) { chain.start() }.value
    await begun.valueIgnoringCancellation()
    let seen = try await Task(priority: .high) { try await run.value }.value
    #expect(seen >= .high)
  }
}
