// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The state of a walk after some answers.
@MainActor
package struct FlowWalk {
  /// The flow, the flow that its current step is, and so on.
  fileprivate var levels: [FlowCourse] = []
  /// The contents of the steps that the walk has changed, in the walker's order.
  fileprivate var contents: [FlowContent?] = []
  /// The state that distinguishes positions: the paths, and the contents that differ from the initial ones.
  package fileprivate(set) var state: [String] = []

  /// The current step of each flow, the outermost first.
  package var steps: [AnyFlowStep] { levels.compactMap(\.path.top) }

  /// The steps that the innermost flow names.
  package var named: [AnyFlowStep] { levels.last?.definition.steps ?? [] }

  fileprivate mutating func enter(_ flow: FlowCore) throws {
    try flow.definition.prepare()
    levels.append(FlowCourse(flow.definition))
  }

  /// Follows the transition after the current step; returns the end of the outermost flow if it ends there.
  fileprivate mutating func follow(_ end: FlowEnd) -> FlowEnd? {
    var end = end
    while var level = levels.popLast(), let step = level.path.top {
      let move = level.move(after: step, end)
      switch level.follow(move, by: FlowLogEntry(step: step.name, end: end)) {
      case .step:
        levels.append(level)
        return nil
      case .end(let over): end = over
      }
    }
    return end
  }
}

/// The position that a walk has reached.
package enum FlowPosition {
  case at(FlowWalk)
  case end(FlowEnd)
}

/// Walks through a flow in the same way as runs with given answers, without presenting a step.
@MainActor
package final class FlowWalker {
  /// The walker that is setting contents.
  static var current: FlowWalker?

  private let flow: FlowCore
  /// Whether the step of a nested flow is answered as a whole.
  private let isAnswered: (AnyFlowStep) -> Bool
  /// The steps whose content the walk has changed, with their original contents.
  private var originals: [(step: AnyFlowStep, content: FlowContent?, text: String)] = []
  private var noted: Set<AnyFlowStep> = []

  package init<Output>(_ flow: Flow<Output>, isAnswered: @escaping (AnyFlowStep) -> Bool) {
    self.flow = flow.core
    self.isAnswered = isAnswered
  }

  package func begin() -> FlowPosition {
    position { walk in
      try walk.enter(flow)
      return nil
    }
  }

  /// Follows the transition after the current step.
  package func follow(_ end: FlowEnd, from walk: FlowWalk) -> FlowPosition {
    position(from: walk) { $0.follow(end) }
  }

  /// Restores all contents to those before the walk.
  package func restore() {
    for original in originals { try? original.step.restore(original.content) }
  }

  /// Called before a content is set.
  func note(_ step: AnyFlowStep) {
    if noted.insert(step).inserted { originals.append((step, step.savedContent, step.contentText)) }
  }

  private func position(
    from walk: FlowWalk = FlowWalk(),
    _ go: (inout FlowWalk) throws -> FlowEnd?
  ) -> FlowPosition {
    Self.current = self
    defer { Self.current = nil }
    var walk = walk
    for (index, original) in originals.enumerated() {
      try? original.step.restore(index < walk.contents.count ? walk.contents[index] : original.content)
    }
    do {
      if let end = try go(&walk) { return .end(end) }
      while let step = walk.steps.last, !isAnswered(step), let nested = step.nestedFlow { try walk.enter(nested) }
    } catch {
      return .end(.ended(.failed(error)))
    }
    walk.contents = originals.map { $0.step.savedContent }
    walk.state = walk.levels.flatMap { $0.path.steps.map(\.name) + [""] }
    for (index, original) in originals.enumerated() where original.step.contentText != original.text {
      walk.state += ["\(index)", original.step.contentText]
    }
    return .at(walk)
  }
}
