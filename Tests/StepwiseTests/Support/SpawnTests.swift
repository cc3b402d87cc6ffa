// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct SpawnTests {
  @TaskLocal static var mark = "none"

  @Test func `A spawned task has the name`() async {
    let name = await Task(name: "caller") { await spawn { Task.name }.value }.value
    #expect(name == "caller")
    #expect(await Task { await spawn { Task.name }.value }.value == nil)
  }

  @Test func `A step has the name of the task that started its run`() async throws {
    let chain = Chain { (_: Int) in Task.name }
    #expect(try await Task(name: "caller") { try await chain.start(1).value }.value == "caller")
  }

  @Test(arguments: [TaskPriority.background, .utility, .medium, .high])
  func `A spawned task has the priority`(priority: TaskPriority) async {
    let seen = Recorder<TaskPriority>()
    _ = Task.detached(priority: priority) { _ = spawn { seen.record(Task.currentPriority) } }
    #expect(await seen.elements(atLeast: 1) == [priority])
  }

  @Test func `A given priority is used`() async {
    let seen = Recorder<TaskPriority>()
    _ = Task.detached(priority: .background) { _ = spawn(priority: .high) { seen.record(Task.currentPriority) } }
    #expect(await seen.elements(atLeast: 1) == [.high])
  }

  @Test func `A spawned task has the task-local values`() async {
    let mark = await Self.$mark.withValue("caller") { await spawn { Self.mark }.value }
    #expect(mark == "caller")
  }

  @Test func `A spawned task has the executor preference`() async throws {
    let executor = SeededExecutor(seed: 1)
    let isThere = try executor.run {
      await spawn { withUnsafeCurrentTask { $0?.unownedTaskExecutor } == executor.asUnownedTaskExecutor() }.value
    }
    #expect(isThere)
    let isNone = await Task.detached { await spawn { withUnsafeCurrentTask { $0?.unownedTaskExecutor } == nil }.value }
      .value
    #expect(isNone, "a caller without a preference has none to pass on")
  }

  @Test func `A spawned task has both of them together`() throws {
    let executor = SeededExecutor(seed: 1)
    let seen = try executor.run {
      await Self.$mark.withValue("caller") {
        await spawn {
          await spawn { [Self.mark, "\(withUnsafeCurrentTask { $0?.unownedTaskExecutor } != nil)"] }.value
        }.value
      }
    }
    #expect(seen == ["caller", "true"])
  }

  @Test func `A spawned task is not cancelled with its caller`() async {
    let isCancelled = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await spawn { Task.isCancelled }.value
    }.value
    #expect(!isCancelled)
  }

  @Test @MainActor func `The operation keeps its isolation`() async {
    await spawn { @MainActor in MainActor.assertIsolated() }.value
  }
}
