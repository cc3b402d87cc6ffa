// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// A step of a flow with its types erased: an element of a list of steps, and of a flow's path.
///
/// You meet it in lists; to present a step, use the ``FlowStep`` itself.
@MainActor
public class AnyFlowStep {
  /// Called before a content is set, while a walk goes through a flow.
  package static var willSetContent: (@MainActor (AnyFlowStep) -> Void)?

  /// The name of the step in events, errors, diagrams and answer logs; unique within a flow.
  public nonisolated let name: String

  /// A Boolean value that indicates whether the step is being presented.
  public internal(set) var isWaitingForResult = false

  nonisolated let resultType: any Sendable.Type

  /// The steps that are presented with it, concurrently.
  let members: [AnyFlowStep]

  nonisolated init(name: String, resultType: any Sendable.Type, members: [AnyFlowStep]) {
    self.name = name
    self.resultType = resultType
    self.members = members
  }

  /// Whether a flow has chosen the step, and is about to present it.
  var isReserved = false

  /// Whether neither the step nor any that is presented with it is being presented.
  var isFree: Bool { !isWaitingForResult && !isReserved && members.allSatisfy(\.isFree) }

  /// Whether the step, or each that is presented with it, is work without a screen, which going back skips.
  package var isWork: Bool { !members.isEmpty && members.allSatisfy(\.isWork) }

  /// Checks that the content may be set: a step that another flow presents keeps its content.
  func checkFree() throws(FlowError) {
    guard isFree else { throw FlowError(.alreadyPresented, step: name) }
  }

  /// Presents the step outside of a flow, or beside other steps, and removes its screen at the end.
  func presentAlone(beside group: FlowPresentationContext? = nil) async -> FlowEnd {
    let context = FlowPresentationContext(of: group?.step, in: group?.run)
    let end = await present(in: context)
    if context.shown?.place != nil { context.visits.forEach { $0.close() } }
    _ = context.shown?.finish(above: EmptyCollection())
    group?.visits += context.visits
    return end
  }

  /// Whether the step has the content that it is presented with.
  var hasContent: Bool { anyContent != nil && members.allSatisfy(\.hasContent) }

  /// A textual representation of the content, which distinguishes contents as far as possible.
  package var contentText: String {
    members.isEmpty ? anyContent.map { "\($0)" } ?? "" : members.map(\.contentText).joined(separator: ", ")
  }

  /// The content, for a log or a walk; nil when there is none, or when it is `Void`.
  package var savedContent: FlowContent? {
    if !members.isEmpty { return .members(members.map(\.savedContent)) }
    guard let content = anyContent, !(content is Void) else { return nil }
    return FlowContent(content)
  }

  /// The content that the step is presented with.
  var anyContent: Any? { nil }

  /// Whether the step runs another flow.
  var isFlow: Bool { false }

  /// The flow that the step runs for its current content.
  package var nestedFlow: FlowDefinition? { nil }

  /// Presents the step with its current content.
  func present(in context: FlowPresentationContext) async -> FlowEnd {
    if let failure = open() { return failure }
    return await perform(in: context)
  }

  /// Reserves the step for a presentation, which `perform(in:)` then has to begin; returns why it cannot begin.
  func open() -> FlowEnd? {
    do { try checkFree() } catch { return .ended(.failed(error)) }
    guard !Task.isCancelled else { return .cancelledByTask }
    guard hasContent else { return .ended(.failed(FlowError(.noContent, step: name))) }
    isReserved = true
    return nil
  }

  /// Performs the presentation that `open()` has reserved.
  func perform(in context: FlowPresentationContext) async -> FlowEnd {
    .ended(.failed(FlowError(.noContent, step: name)))
  }

  /// Whether its screen has a position on a navigator's stack.
  var isStacked: Bool { false }

  /// Returns the place of its screen, or of the previous one, when a replay passes the step without presenting it.
  func pass(after previous: FlowShown?) -> FlowShown? { previous }

  /// Sets a stored content, which must be of the type.
  package func restore(_ content: FlowContent?) throws(FlowError) {}
}

extension AnyFlowStep: nonisolated Hashable, nonisolated CustomStringConvertible {
  /// Returns a Boolean value that indicates whether two steps are identical.
  public nonisolated static func == (left: AnyFlowStep, right: AnyFlowStep) -> Bool { left === right }

  /// Hashes the step's identity.
  public nonisolated func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// The step's name.
  public nonisolated var description: String { name }
}

/// One screen or question of a flow, which is presented with a content and ends with a result.
///
/// ```swift
/// let profile = FlowStep<UserProfile, ProfileAction>("profile") { handler in show(ProfileScreen(handler)) }
/// let action = try await profile.result(for: user)
/// ```
///
/// The closure runs each time the step is presented: it shows a screen, which completes the handler with the result. A
/// step can also run a chain, a progression, another flow, or several steps concurrently.
@MainActor
public final class FlowStep<Content, Result: Sendable>: AnyFlowStep {
  typealias Body = @MainActor (FlowStep, Content, FlowPresentationContext) async -> FlowEnd
  typealias Show = @MainActor (FlowStepHandler<Content, Result>, FlowPresentationContext) -> FlowShown?

  /// The content of the latest presentation, or of the next one; nil before the first.
  ///
  /// Setting it notifies the handlers of the step that still exist, even after the step has ended. The content of several
  /// steps presented as one consists of theirs: setting it sets each, and it is nil until each has one.
  public var content: Content? {
    get { if let group { group.content() } else { ownContent } }
    set { for deliver in store(newValue) { deliver() } }
  }

  private var ownContent: Content?
  private var version = 0
  /// The steps that this one combines, if any.
  private let group: FlowGroup<Content>?
  /// Returns the flow that the step runs, if any.
  private let flow: (@MainActor (Content) -> FlowDefinition)?
  private let runsWork: Bool
  private let body: Body
  /// What shows a screen on a navigator's stack, and the position that the screen takes after another one.
  private let stacked: (show: Show, place: @MainActor (FlowShown?) -> FlowShown.Place)?
  private var handlers: [@MainActor () -> FlowStepHandler<Content, Result>?] = []

  /// Creates a step that shows a screen, or interacts with the user in another way.
  ///
  /// If `intent` does not retain the handler, the presentation ends as abandoned. It may complete the handler before it
  /// returns.
  public convenience init(_ name: String, _ intent: @escaping @MainActor (FlowStepHandler<Content, Result>) -> Void) {
    self.init(name) { handler, _ in
      intent(handler)
      return nil
    }
  }

  /// Creates a step whose screen `show` shows, at the position that `place` returns on a navigator's stack.
  ///
  /// Without a place, a screen is dismissed when the presentation ends, so the user cannot leave it after that.
  convenience init(
    _ name: String,
    isDismissed: Bool = false,
    place: (@MainActor (FlowShown?) -> FlowShown.Place)? = nil,
    show: @escaping Show
  ) {
    self.init(name: name, stacked: place.map { (show, $0) }) { step, content, context in
      let visit = FlowVisit(in: isDismissed ? nil : context.run?.visits)
      context.visits.append(visit)
      return await step.presentScreen(content, visit, in: context, show)
    }
  }

  init(
    name: String,
    group: FlowGroup<Content>? = nil,
    flow: (@MainActor (Content) -> FlowDefinition)? = nil,
    runsWork: Bool = false,
    stacked: (show: Show, place: @MainActor (FlowShown?) -> FlowShown.Place)? = nil,
    body: @escaping Body
  ) {
    self.group = group
    self.flow = flow
    self.runsWork = runsWork
    self.stacked = stacked
    self.body = body
    super.init(name: name, resultType: Result.self, members: group?.steps ?? [])
  }

  /// Presents the step with a content and waits for the outcome.
  ///
  /// Cancelling the waiting task ends the presentation immediately. In a task that is already cancelled, nothing is
  /// shown.
  public func ask(_ content: Content) async -> FlowAnswer<Result> { await alone(content).answer() }

  /// Presents the step with its current content and waits for the outcome; `.abandoned` without one.
  public func ask() async -> FlowAnswer<Result> { await alone(nil).answer() }

  /// Presents the step with a content and waits for the result.
  ///
  /// - Throws: ``FlowError/back`` and ``FlowError/abandoned``; `CancellationError`; the error of the work behind the
  ///   step; ``FlowError/alreadyPresented`` when the step is already waiting for a result.
  public func result(for content: Content) async throws -> Result { try await alone(content).result(of: name) }

  /// Presents the step with its current content and waits for the result.
  ///
  /// - Throws: ``FlowError/noContent``, and what ``result(for:)`` throws.
  public func result() async throws -> Result { try await alone(nil).result(of: name) }

  private func alone(_ content: Content?) async -> FlowEnd {
    do { try checkFree() } catch { return .ended(.failed(error)) }
    if let content { self.content = content }
    return await presentAlone()
  }

  override func perform(in context: FlowPresentationContext) async -> FlowEnd {
    isReserved = false
    guard !Task.isCancelled else { return .cancelledByTask }
    isWaitingForResult = true
    defer { isWaitingForResult = false }
    guard let content = knownContent else { return .ended(.failed(FlowError(.noContent, step: name))) }
    return await body(self, content, context)
  }

  private func presentScreen(
    _ content: Content,
    _ visit: FlowVisit,
    in context: FlowPresentationContext,
    _ show: Show
  ) async -> FlowEnd {
    // No waiting frame may retain the handler.
    context.shown = show(makeHandler(content, visit), context)
    await context.shown?.present()
    let end = await visit.answer.value()
    if end == nil { visit.answer.settle(.cancelledByTask) }
    await context.dismiss(self)
    return end ?? visit.answer.settled ?? .cancelledByTask
  }

  private func makeHandler(_ content: Content, _ visit: FlowVisit) -> FlowStepHandler<Content, Result> {
    let handler = FlowStepHandler<Content, Result>(content: content, visit: visit)
    handlers.removeAll { $0() == nil }
    handlers.append({ [weak handler] in handler })
    return handler
  }

  /// Sets the content, or that of each member, and returns closures that notify the handlers.
  ///
  /// An observer may set a newer content, which reaches all handlers; the remaining ones then skip the older one.
  func store(_ content: Content?) -> [@MainActor () -> Void] {
    if let group { return group.store(content) }
    Self.willSetContent?(self)
    ownContent = content
    guard let content, !handlers.isEmpty else { return [] }
    version += 1
    let version = version
    return [
      { [self] in
        for handler in handlers { handler()?.take(content) { self.version == version } }
      }
    ]
  }

  /// The content; for `Void` also when none was set.
  var knownContent: Content? { content ?? () as? Content }

  override var anyContent: Any? { knownContent }

  override var isFlow: Bool { flow != nil }

  package override var isWork: Bool { runsWork || super.isWork }

  package override var nestedFlow: FlowDefinition? { knownContent.flatMap { flow?($0) } }

  override var isStacked: Bool { stacked != nil }

  override func pass(after previous: FlowShown?) -> FlowShown? {
    guard let stacked else { return previous }
    // Not the object itself, which would retain those of all turns before it.
    let below = FlowShown(in: previous?.place)
    let restore: @MainActor (AnyFlowStep, FlowRun) -> FlowShown.Place? = { [self] step, run in
      guard let content = knownContent else { return nil }
      let context = FlowPresentationContext(of: step, in: run, previous: below)
      let visit = FlowVisit(in: run.visits, isAnswered: true)
      context.visits.append(visit)
      return stacked.show(makeHandler(content, visit), context)?.place
    }
    return FlowShown(in: stacked.place(below), restoring: restore)
  }

  package override func restore(_ saved: FlowContent?) throws(FlowError) {
    do {
      switch saved {
      case nil: content = nil
      case .value(let value, _):
        guard let value = value() as? Content else { throw FlowError(.wrongAnswer, step: name) }
        content = value
      case .members(let contents): for (member, saved) in zip(members, contents) { try member.restore(saved) }
      case .json(let json) where members.isEmpty: content = try json.decoded(as: Content.self, of: name)
      case .json(let json): try restore(.members(json.members ?? []))
      }
    } catch {
      throw FlowError(.wrongAnswer, step: name, detail: "its content: \(error)")
    }
  }
}

/// Steps that are presented concurrently as one step, whose content consists of theirs.
@MainActor
struct FlowGroup<Content> {
  let steps: [AnyFlowStep]

  /// Returns the contents of all steps, when each has one.
  let content: @MainActor () -> Content?

  /// Sets the content of each step, and returns closures that notify the handlers.
  let store: @MainActor (Content?) -> [@MainActor () -> Void]
}

extension FlowLogEntry {
  /// The answer of a step.
  @MainActor
  public static func answer<Content, Result>(_ step: FlowStep<Content, Result>, _ result: Result) -> FlowLogEntry {
    FlowLogEntry(step: step.name, end: .answered(Box(result)))
  }

  /// Creates the entry of a step that ended without an answer.
  @MainActor
  public static func ended(_ step: AnyFlowStep, _ ending: FlowEnding) -> FlowLogEntry {
    FlowLogEntry(step: step.name, end: .ended(ending))
  }
}
