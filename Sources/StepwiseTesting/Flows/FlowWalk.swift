// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFlows

/// The position of a walk through a flow after some answers.
@MainActor
struct FlowWalk {
  /// The flow, the flow that its current step is, and so on.
  fileprivate var levels: [FlowCourse] = []
  /// The contents of the steps that the walk has changed, in the walker's order.
  fileprivate var contents: [FlowContent?] = []
  /// The state that distinguishes positions: the paths, and the contents that differ from the initial ones.
  fileprivate(set) var state: [String] = []
  /// How the outermost flow has ended; nil while there is a current step.
  fileprivate(set) var end: FlowEnd?

  /// The current step of each flow, the outermost first.
  var steps: [AnyFlowStep] { levels.compactMap(\.path.top) }

  /// The steps that the innermost flow names.
  var named: [AnyFlowStep] { levels.last?.definition.steps ?? [] }

  fileprivate mutating func enter(_ definition: FlowDefinition) throws {
    let course = FlowCourse(definition)
    try course.prepare()
    levels.append(course)
  }

  /// Follows the transition after the current step.
  fileprivate mutating func follow(_ end: FlowEnd) {
    self.end = end
    while let end = self.end, var level = levels.popLast(), let step = level.path.top {
      let move = level.move(after: step, end)
      level.follow(move, by: FlowLogEntry(step: step.name, end: end))
      if case .end(let end) = move {
        self.end = end
      } else {
        self.end = nil
        levels.append(level)
      }
    }
  }
}

/// Walks through a flow in the same way as runs with given answers, without presenting a step.
@MainActor
final class FlowWalker {
  private let definition: FlowDefinition
  /// Whether the step of a nested flow is answered as a whole.
  private let isAnswered: (AnyFlowStep) -> Bool
  /// The steps whose content the walk has changed, with their original contents.
  private var originals: [(step: AnyFlowStep, content: FlowContent?, text: String)] = []
  private var noted: Set<AnyFlowStep> = []

  init<Output>(_ flow: Flow<Output>, isAnswered: @escaping (AnyFlowStep) -> Bool) {
    definition = flow.definition
    self.isAnswered = isAnswered
  }

  func begin() -> FlowWalk { walk(from: FlowWalk()) { try $0.enter(definition) } }

  /// Follows the transition after the current step.
  func follow(_ end: FlowEnd, from walk: FlowWalk) -> FlowWalk { self.walk(from: walk) { $0.follow(end) } }

  /// Restores all contents to those before the walk.
  func restore() {
    for original in originals { try? original.step.restore(original.content) }
  }

  private func walk(from start: FlowWalk, _ go: (inout FlowWalk) throws -> Void) -> FlowWalk {
    AnyFlowStep.willSetContent = { step in
      guard self.noted.insert(step).inserted else { return }
      self.originals.append((step, step.savedContent, step.contentText))
    }
    defer { AnyFlowStep.willSetContent = nil }
    var walk = start
    for (index, original) in originals.enumerated() {
      try? original.step.restore(index < walk.contents.count ? walk.contents[index] : original.content)
    }
    do {
      try go(&walk)
      while let step = walk.steps.last, !isAnswered(step), let nested = step.nestedFlow { try walk.enter(nested) }
    } catch {
      walk.end = .ended(.failed(error))
    }
    walk.contents = originals.map { $0.step.savedContent }
    walk.state = walk.levels.flatMap { $0.path.steps.map(\.name) + [""] }
    for (index, original) in originals.enumerated() where original.step.contentText != original.text {
      walk.state += ["\(index)", original.step.contentText]
    }
    return walk
  }
}
