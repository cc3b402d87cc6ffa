// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// Walks every path of a flow, with answers that the test supplies for each step, without asking anybody.
///
/// ```swift
/// let report = FlowExplorer(flow)
///   .answers(profile, .edit, .download)
///   .answers(editName, "Ann")
///   .explore()
/// #expect(report.isSound, "\(report)")
/// ```
///
/// What `on` says is run, many times over, so it should do no more than look and set contents. Steps are not run. Two
/// positions of a flow are the same when the path and the descriptions of all contents are.
@MainActor
public struct FlowExplorer<Output: Sendable> {
  private let flow: Flow<Output>
  private var supplied: [AnyFlowStep: [FlowEnd]] = [:]
  private var order: [AnyFlowStep] = []

  /// Creates an explorer without answers.
  public init(_ flow: Flow<Output>) {
    self.flow = flow
  }

  /// Supplies answers of a step, besides those supplied before.
  ///
  /// - Returns: A new explorer.
  public func answers<Content, Result>(_ step: FlowStep<Content, Result>, _ results: Result...) -> FlowExplorer {
    adding(step, results.map { .answered(FlowBox($0)) })
  }

  /// Supplies endings of a step without an answer, besides what was supplied before.
  ///
  /// - Returns: A new explorer.
  public func endings(_ step: AnyFlowStep, _ endings: FlowEnding...) -> FlowExplorer {
    adding(step, endings.map { .ended($0) })
  }

  private func adding(_ step: AnyFlowStep, _ ends: [FlowEnd]) -> FlowExplorer {
    var explorer = self
    if supplied[step] == nil { explorer.order.append(step) }
    explorer.supplied[step, default: []] += ends
    return explorer
  }

  /// Walks.
  ///
  /// - Parameter limit: How many positions are looked at, at most.
  /// - Returns: What was found.
  public func explore(limit: Int = 10_000) -> FlowExploration {
    var map = FlowMap()
    for step in flow.namedSteps + order { map.add(step.name) }
    var seen: Set<[String]> = []
    var waiting: [[FlowEnd]] = [[]]
    var isComplete = true
    if case .at(let first, let state) = flow.walk([]) {
      map.reach(first.name)
      seen.insert(state)
    }
    while let prefix = waiting.popLast() {
      guard case .at(let step, _) = flow.walk(prefix) else { continue }
      for end in supplied[step] ?? [] {
        let position = flow.walk(prefix + [end])
        map.note(position, after: step.name, end)
        guard case .at(_, let state) = position, !seen.contains(state) else { continue }
        guard seen.count < limit else {
          isComplete = false
          continue
        }
        seen.insert(state)
        waiting.append(prefix + [end])
      }
    }
    return map.exploration(isComplete: isComplete)
  }
}
