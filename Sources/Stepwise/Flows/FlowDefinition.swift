// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a flow is made of: its steps, and what follows each of them.
@MainActor
struct FlowDefinition<Output: Sendable> {
  struct Link {
    var onAnswer: (@MainActor (any AnyFlowBox) throws -> FlowTransition<Output>)?
    var onEnding: (@MainActor (FlowEnding) throws -> FlowTransition<Output>?)?
    var targets: [AnyFlowStep] = []
  }

  let name: String
  let logging: FlowLogging
  let first: AnyFlowStep
  let prepareFirst: @MainActor () -> Void
  /// All steps that the definition names, in its order.
  private(set) var steps: [AnyFlowStep] = []
  private var links: [AnyFlowStep: Link] = [:]

  init(name: String, logging: FlowLogging, first: AnyFlowStep, prepareFirst: @escaping @MainActor () -> Void) {
    self.name = name
    self.logging = logging
    self.first = first
    self.prepareFirst = prepareFirst
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

  /// - Throws: ``FlowError/duplicateName`` when two of the steps have one name.
  func checkNames() throws {
    var names = Set<String>()
    for step in steps where !names.insert(step.name).inserted { throw FlowError(.duplicateName, step: step.name) }
  }

  /// Sets the contents that a run begins with, unless others are being asked with them.
  ///
  /// - Throws: ``FlowError/alreadyAsked`` when the step to begin with is being asked.
  func prepare(_ start: FlowStart) throws {
    let step = start.step ?? first
    try step.checkFree()
    // A step that the caller begins with has what the caller gave it.
    if start.step == nil || (step === first ? !first.hasContent : first.isFree) { prepareFirst() }
    start.prepare?()
  }

  /// What a flow that ends with a step has as its output; nil when that is for the flow to say.
  func output(of box: any AnyFlowBox) -> Output? {
    if let box = box as? FlowBox<Output> { return box.value }
    return Output.self == Void.self ? (() as Any) as? Output : nil
  }
}
