// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Steps that are presented concurrently as one step, whose content consists of theirs.
@MainActor
struct FlowGroup<Content> {
  let steps: [AnyFlowStep]

  /// Returns the contents of all steps, when each has one.
  let content: @MainActor () -> Content?

  /// Sets the content of each step, and returns closures that notify the handlers.
  let store: @MainActor (Content?) -> [@MainActor () -> Void]
}
