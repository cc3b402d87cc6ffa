// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A step of a flow with its types erased: an element of a list of steps, and of a flow's path.
@MainActor
public class AnyFlowStep {
  /// Called before a content is set, while a walk goes through a flow.
  static var willSetContent: (@MainActor (AnyFlowStep) -> Void)?

  /// The name of the step in events, errors, diagrams and answer logs; unique within a flow.
  public nonisolated let name: String

  /// A Boolean value that indicates whether the step is being presented.
  public internal(set) var isWaitingForResult = false

  /// The type of the step's result.
  nonisolated let resultType: any Sendable.Type

  /// The steps that are presented with it, concurrently.
  let members: [AnyFlowStep]

  nonisolated init(name: String, resultType: any Sendable.Type, members: [AnyFlowStep]) {
    self.name = name
    self.resultType = resultType
    self.members = members
  }

  /// Whether neither the step nor any that is presented with it is being presented.
  var isFree: Bool { !isWaitingForResult && members.allSatisfy(\.isFree) }

  /// Checks that the content may be set.
  ///
  /// A step that another flow presents keeps its content.
  ///
  /// - Throws: ``FlowError/alreadyPresented``.
  func checkFree() throws(FlowError) {
    guard isFree else { throw FlowError(.alreadyPresented, step: name) }
  }

  /// Presents the step outside of a flow, and removes its screen at the end.
  func presentAlone() async -> FlowEnd {
    let context = FlowPresentationContext()
    let end = await present(in: context)
    _ = context.shown?.finish(above: EmptyCollection())
    return end
  }

  // MARK: - Content

  /// Whether the step has the content that it is presented with.
  var hasContent: Bool { anyContent != nil && members.allSatisfy(\.hasContent) }

  /// A textual representation of the content, which distinguishes contents as far as possible.
  var contentText: String {
    members.isEmpty ? anyContent.map { "\($0)" } ?? "" : members.map(\.contentText).joined(separator: ", ")
  }

  /// The content, for a log or a walk; nil when there is none, or when it is `Void`.
  var savedContent: FlowContent? {
    if !members.isEmpty { return .members(members.map(\.savedContent)) }
    guard let content = anyContent, !(content is Void) else { return nil }
    return .value({ content }, FlowContentCopy(content))
  }

  // MARK: - What FlowStep knows

  /// The content that the step is presented with.
  var anyContent: Any? { nil }

  /// Whether the step runs another flow.
  var isFlow: Bool { false }

  /// The flow that the step runs for its current content.
  var nestedFlow: FlowDefinition? { nil }

  /// Presents the step with its current content.
  func present(in context: FlowPresentationContext) async -> FlowEnd {
    .ended(.failed(FlowError(.noContent, step: name)))
  }

  /// Shows the step as one that was answered earlier.
  func restoreScreen(in context: FlowPresentationContext) {}

  /// Sets a stored content.
  ///
  /// - Throws: ``FlowError/wrongAnswer`` when it has another type.
  func restore(_ content: FlowContent?) throws(FlowError) {}
}

extension AnyFlowStep: nonisolated Hashable, nonisolated CustomStringConvertible {
  /// Returns a Boolean value that indicates whether two steps are identical.
  public nonisolated static func == (left: AnyFlowStep, right: AnyFlowStep) -> Bool { left === right }

  /// Hashes the step's identity.
  public nonisolated func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// The step's name.
  public nonisolated var description: String { name }
}
