// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// What a flow is made of: its steps, and what follows each of them.
@MainActor
struct FlowDefinition {
  struct Link {
    var onAnswer: (@MainActor (any AnyBox) throws -> FlowMove)?
    var onEnding: (@MainActor (FlowEnding) throws -> FlowMove?)?
    var targets: [AnyFlowStep] = []
  }

  let name: String
  let logging: FlowLogging
  let first: AnyFlowStep
  let prepareFirst: @MainActor () -> Void
  /// Returns the output of a flow that ends with a result; nil when that has another type.
  let output: @MainActor (any AnyBox) -> (any AnyBox)?
  /// All steps that the definition names, in order of appearance.
  private(set) var steps: [AnyFlowStep] = []
  private var links: [AnyFlowStep: Link] = [:]

  init<Output: Sendable>(
    _ name: String,
    _ logging: FlowLogging,
    first: AnyFlowStep,
    output: Output.Type,
    prepareFirst: @escaping @MainActor () -> Void
  ) {
    self.name = name
    self.logging = logging
    self.first = first
    self.prepareFirst = prepareFirst
    self.output = { box in box is Box<Output> ? box : (() as? Output).map { Box($0) } }
    add(first)
  }

  private mutating func add(_ step: AnyFlowStep) {
    guard links[step] == nil else { return }
    links[step] = Link()
    steps.append(step)
  }

  subscript(step: AnyFlowStep) -> Link {
    get { links[step] ?? Link() }
    set {
      add(step)
      newValue.targets.forEach { add($0) }
      links[step] = newValue
    }
  }

  /// Returns the transition after a step.
  ///
  /// - Throws: What `on` throws, and ``FlowError`` for a result without a rule.
  func move(after step: AnyFlowStep, _ end: FlowEnd) throws -> FlowMove {
    let link = self[step]
    switch end {
    case .answered(let box):
      guard box.isBox(of: step.resultType) else { throw FlowError(.wrongAnswer, step: step.name) }
      if let onAnswer = link.onAnswer { return try onAnswer(box) }
      guard let output = output(box) else { throw FlowError(.unhandledResult, step: step.name) }
      return .end(.answered(output))
    case .ended(let ending):
      if let move = try link.onEnding?(ending) { return move }
      if case .back = ending { return .back }
      return .end(end)
    }
  }
}

/// A transition without the type of the flow's output.
enum FlowMove {
  /// Presents a step, which may replace the current one; `prepare` sets its content.
  case present(AnyFlowStep, isReplacing: Bool = false, prepare: @MainActor () -> Void)
  case back
  case end(FlowEnd)
}
