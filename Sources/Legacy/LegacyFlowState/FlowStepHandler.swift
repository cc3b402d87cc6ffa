// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// What a screen answers through, and gets its content from; the screen makes it, and the intent returns it.
///
/// The screen retains it: when it is released, its step ends without a result.
@available(*, deprecated, message: "Take the FlowStepHandler that a FlowStep of Stepwise gives to its intent")
@preconcurrency
@MainActor
public final class FlowStepHandler<Content, Result>: AnyFlowStepHandler<Result> {
  /// Is told the step's content when the step starts, and each new one, also when the step is past; nil when there is none.
  @available(*, deprecated, message: "Use onContent(_:) of the handler that the step makes")
  public var contentUpdateHandler: (@MainActor (Content?) -> Void)? {
    didSet { if isAttached { contentUpdateHandler?(content) } }
  }

  /// The step's content; nil before the step has started, and when there is none.
  @available(*, deprecated, message: "Use content of the handler that the step makes")
  public private(set) var content: Content?

  private var isAttached = false

  /// Creates a handler.
  ///
  /// - Parameters:
  ///   - content: The type of the content, that of the step or a more general one.
  ///   - result: The type of the result.
  @available(*, deprecated, message: "Take the handler that the step makes, and keep it in the screen")
  public nonisolated init(_ content: Content.Type, _ result: Result.Type) {
    super.init()
  }

  override func attach<StepContent>(_ ask: Ask<StepContent, Result>) {
    ask.onContent { [weak self] content in self?.take(content) }
    isAttached = true
    super.attach(ask)
  }

  private func take<StepContent>(_ newContent: StepContent?) {
    content = newContent.flatMap { $0 as? Content }
    contentUpdateHandler?(content)
  }
}
