// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Where a flow goes after a step.
@MainActor
public struct FlowTransition<Output: Sendable> {
  enum Kind {
    case next(AnyFlowStep)
    /// In the place of the one that was presented.
    case replace(AnyFlowStep)
    case back
    case finish(Output)
    /// The flow ends as a step can.
    case end(FlowEnding)
  }

  let kind: Kind
  /// Sets the content of the step that is presented next.
  var prepare: @MainActor () -> Void = {}

  /// Presents a step, with a content.
  ///
  /// A step that is already on the path is gone back to: path and answer log are cut there. The log stores the new content.
  public static func next<Content, Result>(_ step: FlowStep<Content, Result>, _ content: Content) -> FlowTransition {
    FlowTransition(kind: .next(step)) { step.content = content }
  }

  /// Presents a step that has its content, or needs none.
  ///
  /// A step that is already on the path is gone back to: path and answer log are cut there.
  public static func next<Content, Result>(_ step: FlowStep<Content, Result>) -> FlowTransition {
    FlowTransition(kind: .next(step))
  }

  /// Presents a step, with a content, in the place of the one that was answered: back does not lead there any more.
  public static func replace<Content, Result>(_ step: FlowStep<Content, Result>, _ content: Content) -> FlowTransition {
    FlowTransition(kind: .replace(step)) { step.content = content }
  }

  /// Presents a step that has its content, or needs none, in the place of the one that was answered.
  public static func replace<Content, Result>(_ step: FlowStep<Content, Result>) -> FlowTransition {
    FlowTransition(kind: .replace(step))
  }

  /// Presents the step before again; at the first step the flow ends as back.
  public static var back: FlowTransition { FlowTransition(kind: .back) }

  /// Ends the flow with its output.
  public static func finish(_ output: Output) -> FlowTransition { FlowTransition(kind: .finish(output)) }

  /// Ends the flow with an error.
  public static func fail(_ error: any Error) -> FlowTransition { FlowTransition(kind: .end(.failed(error))) }
}

extension FlowTransition where Output == Void {
  /// Ends the flow.
  public static var finish: FlowTransition { FlowTransition(kind: .finish(())) }
}
