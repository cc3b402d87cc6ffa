// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Steps that are asked at once as one step, whose content is theirs.
@MainActor
struct FlowGroup<Content> {
  let steps: [AnyFlowStep]

  /// Theirs, when each has one.
  let content: @MainActor () -> Content?

  /// Gives each its own, and returns what passes them on.
  let store: @MainActor (Content?) -> [@MainActor () -> Void]
}
