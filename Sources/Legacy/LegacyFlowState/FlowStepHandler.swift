// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a screen answers through, and gets its content from; the screen makes and retains it, the intent returns it.
///
/// A step does not retain its handler. When the screen is released, the step waits, and its completion is not called.
@available(*, deprecated, message: "Take the FlowStepHandler that a FlowStep of Stepwise gives to its intent")
@preconcurrency
@MainActor
public final class FlowStepHandler<Content, Result>: AnyFlowStepHandler<Result> {
  /// Called with the step's content when the step starts, and with each new one, also when the step is past.
  @available(*, deprecated, message: "Use onContent(_:) of the handler that the step makes")
  public var contentUpdateHandler: (@MainActor (Content?) -> Void)?

  /// The step's content; nil before the step has started, and when there is none.
  @available(*, deprecated, message: "Use content of the handler that the step makes")
  public private(set) var content: Content?

  /// Creates a handler.
  ///
  /// - Parameters:
  ///   - content: The type of the content, that of the step or a more general one.
  ///   - result: The type of the result.
  @available(*, deprecated, message: "Take the handler that the step makes, and keep it in the screen")
  public nonisolated init(_ content: Content.Type, _ result: Result.Type) {
    super.init()
  }

  override func receive<StepContent>(_ content: StepContent?) {
    // No closure: one that belongs to the main actor traps when old code sets the content on another thread.
    if let content { self.content = content as? Content } else { self.content = nil }
    contentUpdateHandler?(self.content)
  }
}

/// The name of `FlowStepHandler` in FlowState 1.0.
@available(*, deprecated, renamed: "FlowStepHandler")
public typealias FlowStepIntent<Content, Result> = FlowStepHandler<Content, Result>
