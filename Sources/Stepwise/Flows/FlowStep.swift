// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One interaction of a flow: it is asked with a content and ends with a result.
///
/// ```swift
/// let profile = FlowStep<UserProfile, ProfileAction>("profile") { handler in show(ProfileScreen(handler)) }
/// let action = try await profile.result(for: user)
/// ```
///
/// The closure, the step's intent, is called each time the step is asked. It shows a screen and gives it the handler, which
/// the screen answers through. A step can also be a chain, a progression, another flow, or several steps at once.
@MainActor
public final class FlowStep<Content, Result: Sendable>: AnyFlowStep {
  typealias Body = @MainActor (FlowStep, _ content: Content?, _ stage: FlowStage) async -> FlowAskEnd<Result>
  typealias Show = @MainActor (FlowStepHandler<Content, Result>, FlowStage) -> FlowShown?

  /// The content of the latest ask, or of the next one; nil when there was none yet.
  ///
  /// It may be set at any time. The handlers of the step that still live are told, also when the step is past. That of
  /// several steps at once has theirs: setting it sets each, and it is nil as long as one has none.
  public var content: Content? {
    get { if let group { group.content() } else { ownContent } }
    set {
      if let group { return group.setContent(newValue) }
      ownContent = newValue
      if let newValue { forward(newValue) }
    }
  }

  /// The content, also where there is nothing to say.
  var knownContent: Content? { content ?? (() as Any) as? Content }

  private var ownContent: Content?
  /// The steps that this one stands for, if it does.
  private let group: FlowGroup<Content>?
  private let body: Body
  /// Shows the step as one that was answered before.
  private let restoring: Show?
  private var handlers: [FlowWeakHandler<Content, Result>] = []
  private var pruneLimit = 4

  /// Creates a step that shows something.
  ///
  /// - Parameters:
  ///   - name: What events, errors, pictures and answer logs call the step.
  ///   - intent: Shows what asks the user, and gives it the handler. A handler that nobody keeps ends the ask as abandoned.
  ///     It may be completed before the intent has returned.
  public convenience init(_ name: String, _ intent: @escaping @MainActor (FlowStepHandler<Content, Result>) -> Void) {
    self.init(
      name,
      show: { handler, _ in
        intent(handler)
        return nil
      }
    )
  }

  init(name: String, group: FlowGroup<Content>? = nil, body: @escaping Body) {
    self.group = group
    self.body = body
    restoring = nil
    super.init(name: name)
  }

  /// `show` shows what asks, and returns what is to be taken down again.
  init(_ name: String, isRestored: Bool = false, show: @escaping Show) {
    group = nil
    restoring = isRestored ? show : nil
    body = { step, content, stage in
      guard let content else { return .ended(.failed(FlowError(.noContent, step: step.name))) }
      return await step.askScreen(content, on: stage, show)
    }
    super.init(name: name)
  }

  // MARK: - Asking

  /// Asks with a content, and waits for how that ends.
  ///
  /// Cancelling the Task that waits ends the ask as cancelled, at once; in a Task that is cancelled already nothing is shown.
  ///
  /// - Parameter content: What the step is about; it becomes the step's content.
  /// - Returns: The answer, or what came in its place.
  public func ask(_ content: Content) async -> FlowAnswer<Result> { await alone(content).answer }

  /// Asks with the content that the step has, and waits for how that ends.
  ///
  /// - Returns: The answer, or what came in its place; `.abandoned` when the step has no content.
  public func ask() async -> FlowAnswer<Result> { await alone(nil).answer }

  /// Asks with a content, and waits for the result.
  ///
  /// - Parameter content: What the step is about; it becomes the step's content.
  /// - Returns: The result.
  /// - Throws: ``FlowError/back`` and ``FlowError/abandoned``; `CancellationError`; the error of the work behind the step;
  ///   ``FlowError/alreadyAsked`` when the step is being asked.
  public func result(for content: Content) async throws -> Result { try await alone(content).get(step: name) }

  /// Asks with the content that the step has, and waits for the result.
  ///
  /// - Returns: The result.
  /// - Throws: ``FlowError/noContent``, and what ``result(for:)`` throws.
  public func result() async throws -> Result { try await alone(nil).get(step: name) }

  private func alone(_ content: Content?) async -> FlowAskEnd<Result> {
    do { try checkFree() } catch { return .ended(.failed(error)) }
    if let content { self.content = content }
    let stage = FlowStage()
    let end = await ask(on: stage)
    stage.shown?.leave()
    return end
  }

  private func ask(on stage: FlowStage) async -> FlowAskEnd<Result> {
    do { try checkFree() } catch { return .ended(.failed(error)) }
    guard !Task.isCancelled else { return .cancelledByTask }
    guard hasContent else { return .ended(.failed(FlowError(.noContent, step: name))) }
    isAsked = true
    defer { isAsked = false }
    return await body(self, knownContent, stage)
  }

  private func askScreen(
    _ content: Content,
    on stage: FlowStage,
    _ show: Show
  ) async -> FlowAskEnd<Result> {
    let answer = Once<FlowAskEnd<Result>>()
    // No frame that waits keeps the handler alive.
    stage.shown = show(makeHandler(content, answer), stage)
    if let end = await answer.value() {
      stage.shown?.askEnded()
      return end
    }
    let cancelled = FlowAskEnd<Result>.cancelledByTask
    answer.settle(cancelled)
    stage.shown?.askEnded()
    return answer.settled ?? cancelled
  }

  // MARK: - Handlers

  private func makeHandler(_ content: Content, _ answer: Once<FlowAskEnd<Result>>) -> FlowStepHandler<Content, Result> {
    let handler = FlowStepHandler(content: content, answer: answer)
    if handlers.count >= pruneLimit {
      handlers.removeAll { $0.handler == nil }
      pruneLimit = max(4, handlers.count * 2)
    }
    handlers.append(FlowWeakHandler(handler: handler))
    return handler
  }

  private func forward(_ content: Content) {
    for entry in handlers { entry.handler?.take(content) }
  }

  // MARK: - Without types

  override var hasContent: Bool { knownContent != nil && members.allSatisfy(\.hasContent) }

  override var members: [AnyFlowStep] { group?.steps ?? [] }

  override func askErased(on stage: FlowStage) async -> FlowEnd { await ask(on: stage).erased }

  override func restore(on stage: FlowStage) {
    guard let restoring, let content = knownContent else { return }
    let answered = Once<FlowAskEnd<Result>>()
    answered.settle(.ended(.abandoned))
    stage.shown = restoring(makeHandler(content, answered), stage)
  }

  override package func takes(_ answer: any AnyFlowBox) -> Bool { answer is FlowBox<Result> }

  override package var contentText: String {
    if let group { return group.steps.map(\.contentText).joined(separator: ", ") }
    return content.map { "\($0)" } ?? ""
  }

  override package func savedContent() -> @MainActor () -> Void {
    if let group {
      let restore = group.steps.map { $0.savedContent() }
      return { for restore in restore { restore() } }
    }
    let saved = content
    return { [self] in content = saved }
  }

  override nonisolated var answerType: FlowAnswerType { FlowAnswerType(Result.self) }
}

private struct FlowWeakHandler<Content, Result: Sendable> {
  weak let handler: FlowStepHandler<Content, Result>?
}
