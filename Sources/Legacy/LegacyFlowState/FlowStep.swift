// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Something that a flow is made of: it is started, and starts what is next when it has been completed.
@available(*, deprecated, message: "Use AnyFlowStep for a list of steps, and Flow for what is run")
@preconcurrency
@MainActor
public protocol Startable {
  /// What it is called.
  @available(*, deprecated, message: "Use name of FlowStep")
  var identifier: String { get }

  /// What is started when this has been completed; nil ends the flow.
  @available(*, deprecated, message: "Use on(_:) of Flow, and return .next(step, content) or .finish")
  var nextStep: (any Startable)? { get set }

  /// Starts it. When it has been completed, it starts its `nextStep`.
  @available(*, deprecated, message: "Use `try await flow.run()`, or start() of Flow, which returns a Run")
  func start()
}

/// One interaction of a flow: an intent shows something, its handler completes it, and a completion says what is next.
///
/// A step retains its closures and its next step, and nothing retains a step but what stores it: a flow lives as long
/// as its first step is retained. When that is released, a handler that is still on the screen completes nothing.
@available(*, deprecated, message: "Use FlowStep<Content, Result>(name) { handler in … }, linked in a Flow")
@preconcurrency
@MainActor
public final class FlowStep<Content, Result>: Startable {
  /// Shows something, and returns the handler that will complete the step, or nil.
  @available(*, deprecated, message: "An intent of Stepwise is given its handler and returns nothing")
  public typealias IntentClosure = @MainActor (FlowStep<Content, Result>) -> FlowStepHandler<Content, Result>?

  /// Receives the result, and says what is next.
  @available(*, deprecated, message: "Use on(_:) of Flow")
  public typealias CompletionClosure = @MainActor (FlowStep<Content, Result>, Result?) -> Void

  /// What the step is called.
  @available(*, deprecated, message: "Use name of FlowStep")
  public var identifier: String

  /// What is started when the step has been completed; nil ends the flow.
  @available(*, deprecated, message: "Use on(_:) of Flow, and return .next(step, content) or .finish")
  public var nextStep: (any Startable)?

  /// The content of the step; the newest handler receives each new one, as long as it lives.
  @available(*, deprecated, message: "Use content of FlowStep, or .next(step, content)")
  public var content: Content? {
    didSet { handler?.receive(content) }
  }

  private let intent: @MainActor (FlowStep) -> AnyFlowStepHandler<Result>?
  private var completion: (@MainActor (FlowStep, Result?) -> Void)?
  private weak var handler: AnyFlowStepHandler<Result>?

  /// Creates a step.
  ///
  /// - Parameters:
  ///   - content: The type of what the step is about.
  ///   - result: The type of what it is completed with.
  ///   - identifier: What it is called.
  ///   - intent: Shows something each time the step is started, and returns the handler that will complete the step;
  ///     nil completes it at once without a result.
  ///   - completion: Receives the result, and says what is next by setting `nextStep`.
  @available(*, deprecated, message: "Use FlowStep<Content, Result>(name) { handler in … }, and on(_:) of Flow")
  @preconcurrency
  public init(
    _ content: Content.Type,
    _ result: Result.Type,
    identifier: String,
    _ intent: @escaping @MainActor (FlowStep) -> AnyFlowStepHandler<Result>?,
    _ completion: (@MainActor (FlowStep, Result?) -> Void)? = nil
  ) {
    self.identifier = identifier
    self.intent = intent
    self.completion = completion
  }

  /// Sets what receives the result, and says what is next; it replaces an earlier call.
  @available(*, deprecated, message: "Use on(_:) of Flow")
  @preconcurrency
  public func setCompletion(_ completion: @escaping @MainActor (FlowStep, Result?) -> Void) {
    self.completion = completion
  }

  /// Calls the intent, before this returns, and gives its handler the content.
  @available(*, deprecated, message: "Use `try await flow.run()`, or start() of Flow, which returns a Run")
  public func start() { start(relay: nil) }

  /// Starts the step; its result goes to `relay`, unless that is nil, and the next step is not started then.
  ///
  /// The handler retains `relay`, which is released with the screen.
  func start(relay: (@MainActor (Result?) -> Void)?) {
    handler = nil
    guard let handler = intent(self) else {
      complete(nil, relay)
      return
    }
    self.handler = handler
    handler.receive(content)
    handler.attach { [weak self] result in self?.complete(result, relay) != nil }
  }

  private func complete(_ result: Result?, _ relay: (@MainActor (Result?) -> Void)?) {
    completion?(self, result)
    if let relay { relay(result) } else { nextStep?.start() }
  }
}

/// Starts several steps; when each of them has started its next step, the next step of this one is started.
@available(*, deprecated, message: "Use FlowStep.all(a, b), whose answer has all results")
@preconcurrency
@MainActor
public final class ConcurentFlowStep: Startable {
  /// What the step is called.
  @available(*, deprecated, message: "Use name of FlowStep")
  public let identifier: String

  /// What is started when all steps have been completed; nil ends the flow.
  @available(*, deprecated, message: "Use on(_:) of Flow, and return .next(step, content) or .finish")
  public var nextStep: (any Startable)?

  private let steps: [any Startable]
  private var completed = 0

  /// Creates a step of several.
  ///
  /// - Parameters:
  ///   - identifier: What it is called.
  ///   - steps: The steps. Each one's `nextStep` is replaced when this step is started.
  @available(*, deprecated, message: "Use FlowStep.all(a, b), or FlowStep.all(steps) for steps of one kind")
  public required init(identifier: String, steps: [any Startable]) {
    self.identifier = identifier
    self.steps = steps
  }

  /// Starts the steps, in their order, before this returns.
  ///
  /// A step that you write counts when it starts its `nextStep`. It has to be a class: the `nextStep` of a structure is
  /// set in a copy.
  @available(*, deprecated, message: "Use `try await step.result()`, or a Flow")
  public func start() {
    completed = 0
    for var step in steps {
      step.nextStep = FlowStep(
        Any.self,
        Any.self,
        identifier: "Concurrent Completion",
        { [weak self] _ in
          self?.completed += 1
          return nil
        },
        { [weak self] _, _ in self?.completeIfAllAre() }
      )
    }
    for step in steps { step.start() }
  }

  private func completeIfAllAre() {
    guard completed == steps.count else { return }
    completed = 0
    nextStep?.start()
  }
}
