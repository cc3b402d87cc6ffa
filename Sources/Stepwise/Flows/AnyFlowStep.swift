// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A step of a flow without its types: what a list of steps has, and what a flow says where it is.
@MainActor
public class AnyFlowStep {
  /// What events, errors, pictures and answer logs call the step; steps of one flow have different names.
  public nonisolated let name: String

  /// Whether somebody is being asked.
  public internal(set) var isAsked = false

  nonisolated init(name: String) {
    self.name = name
  }

  // MARK: - What FlowStep knows

  /// Whether the step has what it is asked with.
  var hasContent: Bool { false }

  /// The steps that are asked with it, at once.
  var members: [AnyFlowStep] { [] }

  /// Whether neither the step nor any that is asked with it is being asked.
  var isFree: Bool { !isAsked && members.allSatisfy(\.isFree) }

  /// To be called before the content is set: what others are being asked stays as it is.
  ///
  /// - Throws: ``FlowError/alreadyAsked``.
  func checkFree() throws(FlowError) {
    guard isFree else { throw FlowError(.alreadyAsked, step: name) }
  }

  /// Asks, with the content that the step has.
  func askErased(on stage: FlowStage) async -> FlowEnd {
    .ended(.failed(FlowError(.noContent, step: name)))
  }

  /// Shows the step as one that was answered before.
  func restore(on stage: FlowStage) {}

  /// Whether an answer is of the step's type.
  package func takes(_ answer: any AnyFlowBox) -> Bool { false }

  /// The content in words, which tell contents apart as far as they can.
  package var contentText: String { "" }

  /// Keeps the content, and returns what brings it back.
  package func savedContent() -> @MainActor () -> Void { {} }

  /// How the step's answers are decoded.
  nonisolated var answerType: FlowAnswerType { FlowAnswerType(Never.self) }

  /// An ending as it is, but for an answer that was decoded before its type was known.
  ///
  /// - Throws: ``FlowError/wrongAnswer`` for an answer of another type; ``FlowError/notCodable``.
  nonisolated func typed(_ end: FlowEnd) throws -> FlowEnd {
    guard case .answered(let box) = end, let stored = box as? FlowBox<FlowStored> else { return end }
    return .answered(try answerType.answer(of: name) { FlowStoredDecoder(stored.value) })
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
