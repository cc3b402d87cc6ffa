// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyElevate
import StepwiseTesting
import Testing

/// What was wrong with Elevate and is not here, and what is as it was there.
@Suite(.timeLimit(.minutes(5)))
struct ElevateDefectTests {
  @available(*, deprecated)
  final class Controller: Elevate {
    let screen = Screen()
    let goOn = DispatchSemaphore(value: 0)

    /// A task that blocks its thread until it is told to go on.
    func launchSlow() -> ElevateTask {
      let (screen, goOn) = (screen, goOn)
      return async {
        task {
          screen.shown.record("begun")
          goOn.wait()
        }
        onFinish { _, _ in screen.show("slow") }
      }
    }

    func launchQuick(_ clock: ManualClock) -> ElevateTask {
      let screen = screen
      return async {
        timeout(1, clock: clock)
        task { 1 }
        onStart { screen.show("start") }
        onTimeout { screen.show("timeout") }
        onFinish { result, _ in screen.show("quick \(result ?? "")") }
      }
    }

    /// A task that looks, round after round, whether it is to end.
    func launchComputing(_ clock: ManualClock) -> ElevateTask {
      let screen = screen
      return async {
        timeout(1, clock: clock)
        task {
          screen.shown.record("begun")
          while true {
            if Task.isCancelled { throw CancelledError() }
            await Task.yield()
          }
        }
        onTimeout { screen.show("timeout") }
        onFinish { _, error in screen.show("finish \(error.map { "\(type(of: $0))" } ?? "")") }
      }
    }
  }

  // The original counted the wait in the queue.
  @available(*, deprecated)
  @Test func aTimeoutDoesNotCountTheWaitInTheQueue() async {
    let (controller, clock) = (Controller(), ManualClock())
    let slow = controller.launchSlow()
    let quick = controller.launchQuick(clock)
    await controller.screen.shown.elements(atLeast: 2)
    clock.advance(by: .seconds(100))
    controller.goOn.signal()
    await slow.ended()
    await quick.ended()
    #expect(controller.screen.lines.suffix(2) == ["slow", "quick 1"])
  }

  // The original looked at its timeout at HTTP calls only.
  @available(*, deprecated)
  @Test func aTimeoutIsSeenByWorkThatMakesNoRequest() async {
    let (controller, clock) = (Controller(), ManualClock())
    let task = controller.launchComputing(clock)
    await clock.sleepers(atLeast: 1)
    await controller.screen.shown.elements(atLeast: 1)
    clock.advance(by: .seconds(1))
    await task.ended()
    #expect(controller.screen.lines == ["begun", "timeout", "finish TimeoutError"])
  }

  // The original raised its CancelledError at HTTP calls only.
  @available(*, deprecated)
  @Test func aCancelIsSeenByWorkThatMakesNoRequest() async {
    let controller = Controller()
    let task = controller.launchComputing(ManualClock())
    await controller.screen.shown.elements(atLeast: 1)
    task.cancel()
    #expect(await task.ended())
    #expect(controller.screen.lines == ["begun"])
  }

  // As there: one queue for everybody. The way out is a job on a queue of its own.
  @available(*, deprecated)
  @Test func oneSlowTaskHoldsUpEverybodyUntilItsPartIsAJob() async {
    let (slow, other) = (Controller(), Controller())
    let task = slow.launchSlow()
    await slow.screen.shown.elements(atLeast: 1)
    let quick = other.launchQuick(ManualClock())
    #expect(await Moved.run(on: "a queue of its own") == "a queue of its own")
    #expect(!other.screen.lines.contains("quick 1"))
    slow.goOn.signal()
    await task.ended()
    await quick.ended()
    #expect(other.screen.lines == ["start", "quick 1"])
  }
}
