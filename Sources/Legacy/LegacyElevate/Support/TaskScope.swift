// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// What the blocks of one launch find without being given it: the arguments, and in the background the way to tell updates.
struct TaskScope: Sendable {
  @TaskLocal static var current: TaskScope?

  let args: TaskArgs
  var context: JobContext<TaskValue>?
}
