// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyElevate
import StepwiseTesting

/// A screen of the second edition, which declares its tasks by name.
@available(*, deprecated)
final class TracksController: Elevate {
  let screen = Screen()
  let clock = ManualClock()

  init() {
    let (screen, clock) = (screen, clock)
    task("search") {
      background {
        let term: String = try taskArgs.value("term")
        update("searching \(term)")
        if let error = taskArgs["error"] as? any Error { throw error }
        if taskArgs.waits == true { try await clock.sleep(for: .seconds(100)) }
        return term.count
      }
      onStart { screen.show("start \(taskArgs.term ?? "")") }
      onUpdate { text in screen.show("\(text) for \(taskArgs.term ?? "")") }
      onFinish { result, error in
        screen.show("finish \(result ?? "nil") \(error.map { "\(type(of: $0))" } ?? "nil") \(taskArgs.term ?? "")")
      }
      onError { error in screen.show("error \(error) \(taskArgs.term ?? "")") }
      onTimeout { screen.show("timeout \(taskArgs.term ?? "")") }
      on(OfflineError.self) { error in screen.show("offline \(error.code) \(taskArgs.term ?? "")") }
      on("not_found") { error in screen.show("\(error) \(taskArgs.term ?? "")") }
      on("RequestError") { screen.show("request \(taskArgs.term ?? "")") }
      timeout(30, clock: clock)
    }
    task("other") {
      background { taskArgs["term"] as Any }
      onFinish { (result: String?, error) in screen.show("\(result ?? "nil") \(error.map { "\($0)" } ?? "nil")") }
    }
  }

  /// Launches something that runs until it is cancelled, and waits for its handlers.
  func launchEndless(_ term: String) async -> ElevateTask {
    let task = launch("search", ["term": term, "waits": true])
    await screen.shown.elements(atLeast: 2)
    return task
  }
}

struct NotFoundError: Error {}
