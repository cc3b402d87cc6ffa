// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A flow within a walk, with its output type erased.
@MainActor
protocol FlowLevel {
  /// The steps that the flow's definition names.
  var definedSteps: [AnyFlowStep] { get }
  /// The steps that going back leads through.
  var steps: [AnyFlowStep] { get }

  /// Follows the transition after the current step; returns the end of the flow if it ends there.
  mutating func advance(_ end: FlowEnd) -> FlowEnd?
}

extension FlowCourse: FlowLevel {
  var definedSteps: [AnyFlowStep] { definition.steps }
  var steps: [AnyFlowStep] { path.steps }

  mutating func advance(_ end: FlowEnd) -> FlowEnd? {
    guard let step = path.top else { return .ended(.back) }
    let transition = transition(after: step, end)
    _ = follow(transition, by: FlowLogEntry(step: step.name, end: end))
    return self.end(by: transition)
  }
}

/// The state of a walk after some answers.
@MainActor
package struct FlowWalk {
  /// The flow, the flow that its current step is, and so on.
  fileprivate var levels: [any FlowLevel]
  /// The contents of the steps that the walk has changed, in the walker's order.
  fileprivate var contents: [FlowContent?] = []
  /// The state that distinguishes positions: the paths, and the contents that differ from the initial ones.
  package fileprivate(set) var state: [String] = []

  /// The current step of each flow, the outermost first.
  package var steps: [AnyFlowStep] { levels.compactMap(\.steps.last) }

  /// The steps that the innermost flow names.
  package var named: [AnyFlowStep] { levels.last?.definedSteps ?? [] }
}

/// The position that a walk has reached.
package enum FlowPosition {
  case at(FlowWalk)
  case finished
  case left
  case cancelled
  case failed(any Error)
}

/// Walks through a flow in the same way as runs with given answers, without presenting a step.
@MainActor
package final class FlowWalker {
  /// The walker that is setting contents.
  static var current: FlowWalker?

  private let flow: any AnyFlow
  /// Whether the step of a nested flow is answered as a whole.
  private let isAnswered: (AnyFlowStep) -> Bool
  /// The steps whose content the walk has changed, with their original contents.
  private var originals: [(step: AnyFlowStep, content: FlowContent?, text: String)] = []
  private var noted: Set<AnyFlowStep> = []

  package init<Output>(_ flow: Flow<Output>, isAnswered: @escaping (AnyFlowStep) -> Bool) {
    self.flow = flow
    self.isAnswered = isAnswered
  }

  package func begin() -> FlowPosition {
    position { walk in
      walk.levels = [try flow.enter()]
      return nil
    }
  }

  /// Follows the transition after the current step.
  package func follow(_ end: FlowEnd, from walk: FlowWalk) -> FlowPosition {
    position(from: walk) { walk in
      var end = end
      while var level = walk.levels.popLast() {
        guard let over = level.advance(end) else {
          walk.levels.append(level)
          return nil
        }
        end = over
      }
      return end
    }
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
    from walk: FlowWalk = FlowWalk(levels: []),
    _ go: (inout FlowWalk) throws -> FlowEnd?
  ) -> FlowPosition {
    Self.current = self
    defer { Self.current = nil }
    var walk = walk
    for (index, original) in originals.enumerated() {
      try? original.step.restore(index < walk.contents.count ? walk.contents[index] : original.content)
    }
    do {
      switch try go(&walk) {
      case nil: break
      case .answered: return .finished
      case .ended(.back): return .left
      case .ended(.cancelled): return .cancelled
      case .ended(.abandoned): return .failed(FlowError.abandoned)
      case .ended(.failed(let error)): return .failed(error)
      }
      while let step = walk.steps.last, !isAnswered(step), let nested = step.nestedFlow {
        walk.levels.append(try nested.enter())
      }
    } catch {
      return .failed(error)
    }
    walk.contents = originals.map { $0.step.savedContent }
    walk.state = walk.levels.flatMap { $0.steps.map(\.name) + [""] }
    for (index, original) in originals.enumerated() where original.step.contentText != original.text {
      walk.state += ["\(index)", original.step.contentText]
    }
    return .at(walk)
  }
}
