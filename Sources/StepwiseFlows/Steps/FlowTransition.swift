// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// What a flow does after a step.
@MainActor
public struct FlowTransition<Output: Sendable> {
  let move: FlowMove

  /// Presents a step with a content.
  ///
  /// When the step is already on the path, the flow returns to it: the path and the answer log are cut there. The log
  /// stores the new content.
  public static func next<Content, Result>(_ step: FlowStep<Content, Result>, _ content: Content) -> FlowTransition {
    FlowTransition(move: .present(step) { step.content = content })
  }

  /// Presents a step that has its content, or needs none.
  ///
  /// When the step is already on the path, the flow returns to it: the path and the answer log are cut there.
  public static func next<Content, Result>(_ step: FlowStep<Content, Result>) -> FlowTransition {
    FlowTransition(move: .present(step) {})
  }

  /// Presents a step with a content that replaces the current step, so that going back skips it.
  public static func replace<Content, Result>(_ step: FlowStep<Content, Result>, _ content: Content) -> FlowTransition {
    FlowTransition(move: .present(step, isReplacing: true) { step.content = content })
  }

  /// Presents a step that has its content, or needs none, and replaces the current step.
  public static func replace<Content, Result>(_ step: FlowStep<Content, Result>) -> FlowTransition {
    FlowTransition(move: .present(step, isReplacing: true) {})
  }

  /// Presents the previous step again; from the first step, the flow ends as back.
  public static var back: FlowTransition { FlowTransition(move: .back) }

  /// Finishes the flow with its output.
  public static func finish(_ output: Output) -> FlowTransition {
    FlowTransition(move: .end(.answered(Box(output))))
  }

  /// Fails the flow with an error.
  public static func fail(_ error: any Error) -> FlowTransition { FlowTransition(move: .end(.ended(.failed(error)))) }
}

extension FlowTransition where Output == Void {
  /// Finishes the flow.
  public static var finish: FlowTransition { finish(()) }
}
