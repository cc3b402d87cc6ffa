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

  /// Whether the step can be asked.
  var hasContent: Bool { false }

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
}

extension AnyFlowStep: nonisolated Hashable, nonisolated CustomStringConvertible {
  /// Whether two steps are one.
  public nonisolated static func == (left: AnyFlowStep, right: AnyFlowStep) -> Bool { left === right }

  /// Hashes the step's identity.
  public nonisolated func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// The step's name.
  public nonisolated var description: String { name }
}
