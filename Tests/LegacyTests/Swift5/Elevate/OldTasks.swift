// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyElevate

/// A file of the old world.
@available(*, deprecated)
final class OldScreen: Elevate {
  let screen = Screen()

  func length(of text: String) -> ElevateTask {
    let screen = screen
    return async(["text": text]) {
      task {
        let text: String = try taskArgs.value("text")
        yield("counting \(text)")
        return text.count
      }
      onStart { screen.show("old start") }
      onFinish { result, error in screen.show("old finish \(result ?? "")") }
    }
  }

  func declared() -> TaskDefinition {
    let screen = screen
    return task("length") {
      background { try (taskArgs.value("text") as String).count }
      onFinish { result, error in screen.show("old finish \(result ?? "") of \(taskArgs.text ?? "")") }
    }
  }

  func adopt(_ definition: TaskDefinition) { task("adopted", definition) }
}
