// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Dispatch
internal import LegacySupport

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

/// A handler without the type of its content: what an intent returns.
@available(*, deprecated, message: "An intent is given its handler and returns nothing")
@preconcurrency
@MainActor
public class AnyFlowStepHandler<Result> {
  /// Completes the step, which it does not retain; returns whether there is one.
  private var deliver: @MainActor (Result?) -> Bool = { _ in false }
  /// The last result that came while there was no step.
  private var early: Result??

  nonisolated init() {}

  /// Completes the step with a result, or with none, and starts the next step.
  ///
  /// On the main queue the step's completion is called and the next step is started before this returns. From another
  /// queue both happen in a later turn of the main queue. Each call counts, as long as the step is retained. A call
  /// before the intent has returned the handler is delivered when it has; of several such calls the last counts.
  @available(*, deprecated, message: "Use complete(_:) of the handler that the step makes; for nil back() or cancel()")
  public nonisolated func complete(_ result: sending Result?) {
    let result = Sent(result)
    if MainQueue.isCurrent {
      MainActor.assumeIsolated { answer(result.value) }
    } else {
      DispatchQueue.main.async { self.answer(result.value) }
    }
  }

  private func answer(_ result: Result?) {
    if !deliver(result) { early = .some(result) }
  }

  /// Binds the handler to its step, which takes a result that came before.
  func attach(_ deliver: @escaping @MainActor (Result?) -> Bool) {
    self.deliver = deliver
    if let result = early.take() { _ = deliver(result) }
  }

  /// Receives the step's content.
  func receive<Content>(_ content: Content?) {}
}

/// Where the user's answers come from.
private enum MainQueue {
  private static let key = DispatchSpecificKey<Void>()
  private static let mark: Void = DispatchQueue.main.setSpecific(key: key, value: ())

  /// Whether the caller is there: on Linux that is not always the main thread.
  static var isCurrent: Bool {
    mark
    return DispatchQueue.getSpecific(key: key) != nil
  }
}
