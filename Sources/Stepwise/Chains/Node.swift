// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A step, type-erased: takes its input from the frame and leaves its output there.
@usableFromInline
typealias StepCode = nonisolated(nonsending) @Sendable (inout Frame) async throws -> Void

typealias ErrorHandler = nonisolated(nonsending) @Sendable (any Error) async -> Void
typealias FinallyHandler = nonisolated(nonsending) @Sendable (ChainState) async -> Void

/// One thing that a chain was given, and a link to all that it was given before.
///
/// Chains share what they have in common and keep nothing of one another's tails. The link has this very class as its type,
/// not a protocol or a generic parameter: that is what lets the compiler release a path of a million nodes in a loop.
@usableFromInline
final class Node: Sendable {
  enum Part: Sendable {
    case step(name: String?, isUndoable: Bool, StepCode)
    /// Chains that run as one step.
    case chains([ChainCore], how: String, StepCode)
    case recover(StepCode)
    /// Wraps everything before it.
    case enclosing(how: String, StepCode)
    case onError(ErrorHandler)
    case finally(FinallyHandler)
    case overlap(Overlap)
  }

  let parent: Node?
  let part: Part

  init(_ part: Part, after parent: Node?) {
    self.parent = parent
    self.part = part
  }
}
