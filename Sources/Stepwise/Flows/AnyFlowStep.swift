// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A step of a flow without its types: an element of a list of steps, and of a flow's path.
@MainActor
public class AnyFlowStep {
  /// What events, errors, pictures and answer logs call the step; steps of one flow have different names.
  public nonisolated let name: String

  /// A Boolean value that indicates whether the step is being presented.
  public internal(set) var isWaitingForResult = false

  nonisolated init(name: String) {
    self.name = name
  }

  // MARK: - What FlowStep knows

  /// Whether the step has what it is presented with.
  var hasContent: Bool { false }

  /// The steps that are presented with it, concurrently.
  var members: [AnyFlowStep] { [] }

  /// Whether the step is a flow.
  package var isFlow: Bool { false }

  /// The flow that the step is, for the content that it has.
  var nestedFlow: (any AnyFlow)? { nil }

  /// Whether neither the step nor any that is presented with it is being presented.
  var isFree: Bool { !isWaitingForResult && members.allSatisfy(\.isFree) }

  /// To be called before the content is set: what another flow presents stays as it is.
  ///
  /// - Throws: ``FlowError/alreadyPresented``.
  func checkFree() throws(FlowError) {
    guard isFree else { throw FlowError(.alreadyPresented, step: name) }
  }

  /// Presents the step, with the content that it has.
  func present(in context: FlowPresentationContext) async -> FlowEnd {
    .ended(.failed(FlowError(.noContent, step: name)))
  }

  /// Shows the step as one that was answered before.
  func restoreScreen(in context: FlowPresentationContext) {}

  /// Whether an answer is of the step's type.
  func takes(_ answer: any AnyBox) -> Bool { false }

  /// The content, for a log or a walk; nil when there is none, or nothing in it.
  var savedContent: FlowContent? { nil }

  /// Sets a content that was saved.
  ///
  /// - Throws: ``FlowError/wrongAnswer`` when it is of another type.
  func restore(_ content: FlowContent?) throws(FlowError) {}

  /// The content in words, which tell contents apart as far as they can.
  var contentText: String { "" }

  /// How the step's answers are decoded.
  nonisolated var answerType: FlowAnswerType { FlowAnswerType(Never.self) }

  /// An end as it is, but for an answer that was decoded before its type was known.
  ///
  /// - Throws: ``FlowError/wrongAnswer`` for an answer of another type; ``FlowError/notCodable``.
  func typed(_ end: FlowEnd) throws -> FlowEnd {
    guard case .answered(let box as Box<FlowStored>) = end else { return end }
    return .answered(try box.value.answer(of: self))
  }
}

extension AnyFlowStep: nonisolated Hashable, nonisolated CustomStringConvertible {
  /// Whether two steps are one.
  public nonisolated static func == (left: AnyFlowStep, right: AnyFlowStep) -> Bool { left === right }

  /// Hashes the step's identity.
  public nonisolated func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// The step's name.
  public nonisolated var description: String { name }
}
