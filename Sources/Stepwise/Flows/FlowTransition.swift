// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a flow does after a step.
@MainActor
public struct FlowTransition<Output: Sendable> {
  enum Kind {
    case next(AnyFlowStep)
    /// Presents a step that replaces the current one.
    case replace(AnyFlowStep)
    case back
    case finish(Output)
    /// Ends the flow without an output.
    case end(FlowEnding)
  }

  let kind: Kind
  /// Sets the content of the step that is presented next.
  var prepare: @MainActor () -> Void = {}

  /// Presents a step with a content.
  ///
  /// When the step is already on the path, the flow returns to it: the path and the answer log are cut there. The log
  /// stores the new content.
  public static func next<Content, Result>(_ step: FlowStep<Content, Result>, _ content: Content) -> FlowTransition {
    FlowTransition(kind: .next(step)) { step.content = content }
  }

  /// Presents a step that has its content, or needs none.
  ///
  /// When the step is already on the path, the flow returns to it: the path and the answer log are cut there.
  public static func next<Content, Result>(_ step: FlowStep<Content, Result>) -> FlowTransition {
    FlowTransition(kind: .next(step))
  }

  /// Presents a step with a content that replaces the current step, so that going back skips it.
  public static func replace<Content, Result>(_ step: FlowStep<Content, Result>, _ content: Content) -> FlowTransition {
    FlowTransition(kind: .replace(step)) { step.content = content }
  }

  /// Presents a step that has its content, or needs none, and replaces the current step.
  public static func replace<Content, Result>(_ step: FlowStep<Content, Result>) -> FlowTransition {
    FlowTransition(kind: .replace(step))
  }

  /// Presents the previous step again; from the first step, the flow ends as back.
  public static var back: FlowTransition { FlowTransition(kind: .back) }

  /// Finishes the flow with its output.
  public static func finish(_ output: Output) -> FlowTransition { FlowTransition(kind: .finish(output)) }

  /// Fails the flow with an error.
  public static func fail(_ error: any Error) -> FlowTransition { FlowTransition(kind: .end(.failed(error))) }
}

extension FlowTransition where Output == Void {
  /// Finishes the flow.
  public static var finish: FlowTransition { FlowTransition(kind: .finish(())) }
}
