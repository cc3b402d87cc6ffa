// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport
internal import Stepwise

/// One interaction of a flow: an intent shows something, its handler ends it, and a completion says what is next.
@available(*, deprecated, message: "Use FlowStep<Content, Result>(name) { handler in … }, linked in a Flow")
@preconcurrency
@MainActor
public final class FlowStep<Content, Result>: Followed {
  /// Shows what asks; returns what takes the ask back.
  typealias Show = @MainActor (FlowStep, Ask<Content, Result>) -> (@MainActor () -> Void)?

  /// What the step is called.
  @available(*, deprecated, renamed: "name")
  public nonisolated let identifier: String

  /// What is started when the step has ended; nil ends the flow.
  @available(*, deprecated, message: "Use on(_:) of Flow, and return .next(step, content) or .finish")
  public var nextStep: (any Startable)?

  /// The content of the step; the handlers that still live are told each new one.
  @available(*, deprecated, message: "Use content of FlowStep, or .next(step, content)")
  public var content: Content? {
    get { core.content ?? nil }
    set { core.content = .some(newValue) }
  }

  private(set) var latestResult: Any?
  private weak var handler: AnyFlowStepHandler<Result>?
  private let show: Show
  private var completion: (@MainActor (FlowStep, Result?) -> Void)?
  private var takeBack: (@MainActor () -> Void)?
  private var asking: Task<FlowAnswer<Reply<Result>>, Never>?
  private var asks = 0

  private lazy var core: Stepwise.FlowStep<Content?, Reply<Result>> = {
    let core = Stepwise.FlowStep<Content?, Reply<Result>>(identifier) { [unowned self] ask in
      takeBack = show(self, ask)
    }
    core.content = .some(nil)
    return core
  }()

  init(identifier: String, show: @escaping Show) {
    self.identifier = identifier
    self.show = show
  }

  // MARK: - Making

  /// Creates a step.
  ///
  /// - Parameters:
  ///   - content: The type of what the step is about.
  ///   - result: The type of what it ends with.
  ///   - identifier: What it is called.
  ///   - intent: Shows something each time the step is started, and returns the handler that will end the step; nil ends it
  ///     at once without a result.
  ///   - completion: Is told the result, and says what is next by setting `nextStep`.
  @available(*, deprecated, message: "Use FlowStep<Content, Result>(name) { handler in … }, and on(_:) of Flow")
  @preconcurrency
  public convenience init(
    _ content: Content.Type,
    _ result: Result.Type,
    identifier: String,
    _ intent: @escaping @MainActor (FlowStep) -> AnyFlowStepHandler<Result>?,
    _ completion: (@MainActor (FlowStep, Result?) -> Void)? = nil
  ) {
    self.init(identifier: identifier) { step, ask in
      guard let handler = intent(step) else {
        ask.complete(Reply(nil))
        return nil
      }
      step.handler = handler
      handler.attach(ask)
      return { [weak ask] in ask?.cancel() }
    }
    self.completion = completion
  }

  /// Sets what is told the result, and says what is next; it takes the place of the one before.
  @available(*, deprecated, message: "Use on(_:) of Flow")
  @preconcurrency
  public func setCompletion(_ completion: @escaping @MainActor (FlowStep, Result?) -> Void) {
    self.completion = completion
  }

  /// Starts the step, in the main actor's next turn, and what is next after it.
  ///
  /// A step that is started while it waits for its handler drops that handler, and starts over.
  @available(*, deprecated, message: "Use `try await flow.run()`, or start() of Flow, which returns a Run")
  public func start() { Course.start(self) }

  // MARK: - Running

  func runOnce(in course: Course) async -> (any Startable)? {
    switch await ask() {
    case .answered(let reply): return finish(reply.value)
    case .back, .abandoned: return giveUp()
    case .cancelled: return nil
    }
  }

  /// Asks, in the place of an ask that is still waiting; that one ends as cancelled.
  func ask() async -> FlowAnswer<Reply<Result>> {
    asks += 1
    let number = asks
    let previous = asking
    takeBack?()
    let task = spawn { @MainActor [self] () -> FlowAnswer<Reply<Result>> in
      _ = await previous?.value
      guard number == asks else { return .cancelled }
      let answer = await core.ask()
      takeBack = nil
      return answer
    }
    asking = task
    let answer = await task.value
    if number == asks { asking = nil }
    return answer
  }

  func finish(_ result: Result?) -> (any Startable)? {
    latestResult = result
    completion?(self, result)
    return nextStep
  }

  /// The screen has died: what was next after an earlier answer does not count, only what the completion says now.
  func giveUp() -> (any Startable)? {
    let before = nextStep
    nextStep = nil
    let next = finish(nil)
    if next == nil { nextStep = before }
    return next
  }

  func reopen() {
    handler?.reopen { [self] reply in
      _ = spawn { @MainActor in await Course().resume(after: self, from: self.finish(reply.value)) }
    }
  }

  /// Keeps something as long as the screen lives.
  func keep(_ object: AnyObject) { handler?.kept.append(object) }
}
