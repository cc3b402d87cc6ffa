// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyElevate
import Stepwise
import StepwiseTesting

/// A file of the new world, which meets the old one.
@available(*, deprecated)
enum NewJobs {
  static func length(of task: ElevateTask) async throws -> Int { try await task.modern.value.value() }

  static func run(_ definition: TaskDefinition, with text: String) async throws -> Int {
    try await definition.modern(["text": text]).launch(on: JobQueue(maxConcurrent: 1)).value.value()
  }

  static func job(_ screen: Screen, telling begun: Recorder<String>) -> TaskDefinition {
    Job<TaskArgs, Never, Int>("new") { args in
      begun.record("begun")
      let text: String = try args.value("text")
      if text == "endless" { try await ManualClock().sleep(for: .seconds(1)) }
      return text.count
    }
    .onStart { screen.show("new start") }
    .onFinish { outcome in screen.show("new finish \((try? outcome.get()) ?? -1)") }
    .legacy
  }
}
