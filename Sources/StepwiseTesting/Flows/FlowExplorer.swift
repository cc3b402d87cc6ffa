// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
public import StepwiseFlows

/// Walks every path of a flow, with answers that the test supplies for each step, without presenting a step.
///
/// ```swift
/// let report = FlowExplorer(flow)
///   .answers(profile, .edit, .download)
///   .answers(editName, "Ann")
///   .explore()
/// #expect(report.isSound, "\(report)")
/// ```
///
/// The rules of `on` run once for each transition, so they should only read and set contents, which are restored at the
/// end. Steps do not run. A step that runs a flow is walked through with the answers of that flow's steps, unless
/// answers of the step itself are supplied. Two positions are the same when the paths and the descriptions of all
/// contents are.
@MainActor
public struct FlowExplorer<Output: Sendable> {
  private let flow: Flow<Output>
  private var supplied: [AnyFlowStep: [FlowEnd]] = [:]
  private var order: [AnyFlowStep] = []

  /// Creates an explorer without answers.
  public init(_ flow: Flow<Output>) {
    self.flow = flow
  }

  /// Adds answers of a step to those supplied before.
  ///
  /// - Returns: A new explorer.
  public func answers<Content, Result>(_ step: FlowStep<Content, Result>, _ results: Result...) -> FlowExplorer {
    adding(step, results.map { .answered(Box($0)) })
  }

  /// Adds endings of a step without a result to those supplied before.
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

  /// Explores the flow.
  ///
  /// - Parameter limit: The maximum number of positions to visit.
  /// - Returns: The findings.
  public func explore(limit: Int = 10_000) -> FlowExploration {
    let walker = FlowWalker(flow) { supplied[$0] != nil }
    defer { walker.restore() }
    var map = FlowMap()
    for step in order { map.add(step) }
    var seen: Set<[String]> = []
    var waiting: [FlowWalk] = []
    var isComplete = true
    let start = walker.begin()
    if start.end == nil {
      map.enter(start)
      seen.insert(start.state)
      waiting.append(start)
    }
    while let walk = waiting.popLast() {
      guard let step = walk.steps.last else { continue }
      for end in supplied[step] ?? [] {
        let next = walker.follow(end, from: walk)
        map.note(next, after: step, end)
        guard next.end == nil, !seen.contains(next.state) else { continue }
        guard seen.count < limit else {
          isComplete = false
          continue
        }
        seen.insert(next.state)
        waiting.append(next)
      }
    }
    return map.exploration(isComplete: isComplete)
  }
}
