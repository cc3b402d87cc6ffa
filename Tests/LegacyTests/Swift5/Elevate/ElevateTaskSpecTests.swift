// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyElevate
import StepwiseTesting
import Testing

/// Elevate's specs of tasks, operations, contexts and coordinators, in Swift, each under its own sentence.
@Suite(.timeLimit(.minutes(5)))
struct ElevateTaskSpecTests {
  @available(*, deprecated)
  final class Controller: Elevate {
    let seen = Recorder<String>()
    let clock = ManualClock()

    init() {
      let (seen, clock) = (seen, clock)
      task("test_task") {
        background {
          update(1)
          if taskArgs.raise == true { throw Fault("raised") }
          update(2)
          return 42
        }
        onStart { seen.record("start \(taskArgs["raise"].map { "\($0)" } ?? "nil") \(isOnMainActor())") }
        onUpdate { seen.record("update \($0) \(isOnMainActor())") }
        onError { seen.record("error \($0)") }
        onFinish { result, error in seen.record("finish \(result ?? "nil") \(isOnMainActor())") }
      }
      task("custom_error_handlers") {
        background { throw TimeoutError() }
        onError { _ in seen.record("error") }
        onTimeout { seen.record("timeout") }
      }
      task("timeout_test") {
        timeout(0.3, clock: clock)
        background { if taskArgs.waits == true { try await ManualClock().sleep(for: .seconds(1)) } }
        onTimeout { seen.record("timeout") }
        onFinish { _, _ in seen.record("finish") }
      }
      task("cancellable") {
        background {
          guard let semaphore: DispatchSemaphore = taskArgs.semaphore else { return }
          semaphore.wait()
          update(42)
        }
        onUpdate { _ in seen.record("update") }
        onFinish { _, _ in seen.record("finish") }
      }
    }
  }

  @available(*, deprecated)
  @Test("Cancelling does nothing when no tasks are running")
  func cancellingNothing() {
    let controller = Controller()
    controller.cancel("test_task")
    #expect(controller.seen.elements == [])
  }

  @available(*, deprecated)
  @Test("Cancelling cancels one task or all of several, and does not invoke callbacks", arguments: [1, 3])
  func cancelling(count: Int) async {
    let controller = Controller()
    let semaphore = DispatchSemaphore(value: 0)
    let tasks = (0..<count).map { _ in controller.launch("cancellable", ["semaphore": semaphore]) }
    controller.cancel("cancellable")
    for _ in tasks { semaphore.signal() }
    // The first one may have begun, and then its result comes too late to be told.
    await tasks[0].ended()
    for task in tasks.dropFirst() { #expect(await task.ended()) }
    #expect(controller.seen.elements == [])
  }

  @available(*, deprecated)
  @Test("Runs the task, reports progress, and invokes start, updates and finish in order on the main thread")
  func launching() async {
    let controller = Controller()
    await controller.launch("test_task", ["raise": false]).ended()
    #expect(controller.seen.elements == ["start false true", "update 1 true", "update 2 true", "finish 42 true"])
  }

  @available(*, deprecated)
  @Test("Sets taskArgs to the arguments of the launch, and invokes onError when there is no specific handler")
  func failing() async {
    let controller = Controller()
    await controller.launch("test_task", ["raise": true]).ended()
    #expect(controller.seen.elements == ["start true true", "update 1 true", "error raised", "finish nil true"])
  }

  @available(*, deprecated)
  @Test("Invokes the handler that corresponds to the error, and not onError")
  func specificHandler() async {
    let controller = Controller()
    await controller.launch("custom_error_handlers").ended()
    #expect(controller.seen.elements == ["timeout"])
  }

  @available(*, deprecated)
  @Test("Does not cancel a task that completes in time; stops one that exceeds its timeout, and invokes onTimeout")
  func timeouts() async {
    let controller = Controller()
    await controller.launch("timeout_test").ended()
    #expect(controller.seen.elements == ["finish"])
    let task = controller.launch("timeout_test", ["waits": true])
    await controller.clock.sleepers(atLeast: 1)
    controller.clock.advance(by: .milliseconds(300))
    #expect(await task.ended() == false)
    #expect(controller.seen.elements == ["finish", "timeout", "finish"])
  }

  @available(*, deprecated)
  @Test("An update of several values reaches a handler with as many parameters, or the first of them")
  func severalValues() async {
    let controller = Controller()
    let seen = controller.seen
    for handler in 1...3 {
      await controller.async {
        controller.task { update("row", 7, true) }
        switch handler {
        case 1: controller.onUpdate { seen.record("\($0)") }
        case 2: controller.onUpdate { (name: String, row: Int) in seen.record("\(name) \(row)") }
        default: controller.onUpdate { (name: String, row: Int, last: Bool) in seen.record("\(name) \(row) \(last)") }
        }
      }.ended()
    }
    #expect(seen.elements == ["row", "row 7", "row 7 true"])
  }

  // In a process of its own, where no other test's task runs.
  @available(*, deprecated)
  @Test("Code that a task has started on a queue finds the arguments and sends updates")
  func queues() async {
    await #expect(processExitsWith: .success) {
      let controller = Controller()
      let seen = controller.seen
      await controller.async(["name": "Ann"]) {
        controller.task {
          let done = DispatchSemaphore(value: 0)
          DispatchQueue.global().async {
            update(taskArgs["name"] ?? "nothing")
            done.signal()
          }
          done.wait()
        }
        controller.onUpdate { seen.record("\($0)") }
      }.ended()
      #expect(seen.elements == ["Ann"])
    }
  }

  @available(*, deprecated)
  @Test("A coordinator throws from both signals once it is cancelled, with the error of the cancel")
  func coordinator() throws {
    final class Read: IOCoordinator.Operation {
      let seen = Recorder<String>()
      func cancel() { seen.record("cancelled") }
    }
    let (coordinator, read) = (IOCoordinator(), Read())
    #expect(!coordinator.isCancelled)
    try coordinator.signalBlocked(read)
    try coordinator.signalUnblocked(read)
    try coordinator.signalBlocked(read)
    coordinator.cancel()
    #expect(coordinator.isCancelled)
    #expect(read.seen.elements == ["cancelled"])
    #expect(throws: CancelledError.self) { try coordinator.signalBlocked(read) }
    #expect(throws: CancelledError.self) { try coordinator.signalUnblocked(read) }
    coordinator.cancel(TimeoutError())
    #expect(throws: TimeoutError.self) { try coordinator.signalBlocked(read) }
    #expect(throws: TimeoutError.self) { try coordinator.signalUnblocked(read) }
  }

  @available(*, deprecated)
  @Test("Cancelling a task cancels the operation that blocks it")
  func blockingOperation() async {
    final class Read: IOCoordinator.Operation {
      let unblocked = DispatchSemaphore(value: 0)
      func cancel() { unblocked.signal() }
    }
    let controller = Controller()
    let seen = controller.seen
    let task = controller.async {
      controller.task {
        let read = Read()
        try IOCoordinator.forTask?.signalBlocked(read)
        seen.record("blocks")
        read.unblocked.wait()
        do { try IOCoordinator.forTask?.signalUnblocked(read) } catch { seen.record("\(error)") }
      }
    }
    await seen.elements(atLeast: 1)
    task.cancel()
    await task.ended()
    #expect(seen.elements == ["blocks", "the task was cancelled"])
  }

  @available(*, deprecated)
  @Test("The result is nil before the start, after a cancel and after an error, and that of the block after the end")
  func operation() async throws {
    let controller = Controller()
    let semaphore = DispatchSemaphore(value: 0)
    let first = controller.launch("cancellable", ["semaphore": semaphore])
    let waiting = controller.launch("test_task")
    waiting.cancel()
    semaphore.signal()
    await first.ended()
    guard case .cancelled = await waiting.modern.outcome else { throw Fault("not cancelled") }
    let finished = controller.launch("test_task")
    #expect(try await finished.modern.outcome.get().value(as: Int.self) == 42)
    let failed = controller.launch("test_task", ["raise": true])
    await #expect(throws: Fault.self) { try await failed.modern.outcome.get() }
  }
}
