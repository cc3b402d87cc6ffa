// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
public import StepwiseFlows

/// Finds dead ends of a flow: walks every path with answers that you supply, without presenting a step.
///
/// Use it to test the rules of your flow without a screen.
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
/// end. Steps do not run. At each position the explorer also goes back over each number of screens, as the user may: it
/// finds what this leads to, but does not count it as a way out. A step that runs a flow is walked through with the answers of that flow's steps, unless
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
      func visit(_ next: FlowWalk) {
        guard next.end == nil, !seen.contains(next.state) else { return }
        guard seen.count < limit else { return isComplete = false }
        seen.insert(next.state)
        waiting.append(next)
      }
      for end in supplied[step] ?? [] {
        let next = walker.follow(end, from: walk)
        map.note(next, after: step, end)
        visit(next)
      }
      // The user may go back at any time. That leads to further positions, but it is no way out of a dead end.
      for next in walker.goBack(from: walk) {
        map.noteBack(next, from: step)
        visit(next)
      }
    }
    return map.exploration(isComplete: isComplete)
  }
}

/// The findings of a `FlowExplorer`.
///
/// You can print it: it lists each path on which your user would be stuck.
public struct FlowExploration: Sendable, CustomStringConvertible {
  /// A result after which the flow could not continue.
  public struct Unhandled: Sendable, CustomStringConvertible {
    /// The step with this result.
    public let step: String
    /// The description of the result.
    public let result: String
    /// The error that the flow would fail with.
    public let error: any Error

    /// The finding in one line.
    public var description: String { "\(step): \(result): \(error)" }
  }

  /// The steps that were reached, in the order of the flow.
  public let reached: [String]

  /// The steps of the flow that no supplied answer leads to.
  public let unreached: [String]

  /// The steps that were reached and that no supplied answer leads away from.
  public let deadEnds: [String]

  /// Cycles of steps that no supplied answer leads out of.
  public let loops: [[String]]

  /// The results without a rule, or with a rule that leads to a step that cannot be presented.
  public let unhandled: [Unhandled]

  /// A Boolean value that indicates whether every position was visited, within the limit.
  public let isComplete: Bool

  /// A Boolean value that indicates whether there are no findings.
  public var isSound: Bool {
    isComplete && unreached.isEmpty && deadEnds.isEmpty && loops.isEmpty && unhandled.isEmpty
  }

  /// The findings, one per line.
  public var description: String {
    var lines = ["reached: \(reached.joined(separator: ", "))"]
    lines += unreached.map { "never reached: \($0)" }
    lines += deadEnds.map { "dead end: \($0)" }
    lines += loops.map { "no way out of: \($0.joined(separator: ", "))" }
    lines += unhandled.map { "not handled: \($0)" }
    if !isComplete { lines.append("not every position was visited") }
    return lines.joined(separator: "\n")
  }
}

/// The steps that a walk has visited, and the transitions between them.
@MainActor
struct FlowMap {
  private var steps: [AnyFlowStep] = []
  private var reached: Set<AnyFlowStep> = []
  private var turns: [AnyFlowStep: Set<AnyFlowStep>] = [:]
  /// The steps with an answer that ends the flow.
  private var exits: Set<AnyFlowStep> = []
  private var unhandled: [FlowExploration.Unhandled] = []

  mutating func add(_ step: AnyFlowStep) {
    if !steps.contains(step) { steps.append(step) }
  }

  mutating func enter(_ walk: FlowWalk) {
    for step in walk.steps + walk.named { add(step) }
    reached.formUnion(walk.steps)
    for (outer, inner) in zip(walk.steps, walk.steps.dropFirst()) { turns[outer, default: []].insert(inner) }
  }

  mutating func note(_ walk: FlowWalk, after step: AnyFlowStep, _ end: FlowEnd) {
    if case nil = walk.end {
      enter(walk)
      if let next = walk.steps.last { turns[step, default: []].insert(next) }
    } else if !reject(walk, after: step, end) {
      exits.insert(step)
    }
  }

  /// Notes where going back leads, which is neither a transition of the step nor an exit.
  mutating func noteBack(_ walk: FlowWalk, from step: AnyFlowStep) {
    if case nil = walk.end { enter(walk) } else { _ = reject(walk, after: step, .ended(.back)) }
  }

  /// Notes a finding if the flow could not continue.
  private mutating func reject(_ walk: FlowWalk, after step: AnyFlowStep, _ end: FlowEnd) -> Bool {
    guard case .ended(.failed(let error as FlowError)) = walk.end,
      [.unhandledResult, .noContent, .duplicateName].contains(error)
    else { return false }
    let result = if case .answered(let box) = end { "\(box.any)" } else { "\(end)" }
    if !unhandled.contains(where: { $0.step == step.name && $0.result == result }) {
      unhandled.append(FlowExploration.Unhandled(step: step.name, result: result, error: error))
    }
    return true
  }

  func exploration(isComplete: Bool) -> FlowExploration {
    let deadEnds = steps.filter { reached.contains($0) && !exits.contains($0) && (turns[$0] ?? []).isEmpty }
    return FlowExploration(
      reached: names(of: steps.filter(reached.contains)),
      unreached: names(of: steps.filter { !reached.contains($0) }),
      deadEnds: names(of: deadEnds),
      loops: loops(stoppingAt: exits.union(deadEnds)).map(names),
      unhandled: unhandled,
      isComplete: isComplete
    )
  }

  private func names(of steps: [AnyFlowStep]) -> [String] { steps.map(\.name) }

  /// Returns the cycles from which none of the stops can be reached.
  private func loops(stoppingAt stops: Set<AnyFlowStep>) -> [[AnyFlowStep]] {
    let reach = Dictionary(uniqueKeysWithValues: steps.map { ($0, reachable(from: $0)) })
    var reported: Set<AnyFlowStep> = []
    return steps.compactMap { step in
      guard !reported.contains(step), let ahead = reach[step], ahead.isDisjoint(with: stops) else { return nil }
      // A cycle that leads into another one is reported with that one.
      guard ahead.contains(step), ahead.allSatisfy({ reach[$0]?.contains(step) == true }) else { return nil }
      reported.formUnion(ahead)
      return steps.filter(ahead.contains)
    }
  }

  /// Returns the steps that one or more transitions lead to.
  private func reachable(from step: AnyFlowStep) -> Set<AnyFlowStep> {
    var found: Set<AnyFlowStep> = []
    var waiting = Array(turns[step] ?? [])
    while let next = waiting.popLast() {
      if found.insert(next).inserted { waiting += turns[next] ?? [] }
    }
    return found
  }
}

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

  /// The screens that the user may leave besides the current one: for each, the level and the number of steps above.
  fileprivate var lowerScreens: [(level: Int, count: Int)] {
    levels.indices.flatMap { level in
      let steps = levels[level].path.steps
      return steps.indices.dropLast().filter { !steps[$0].isWork }.map { (level, steps.count - $0) }
    }
  }

  /// Goes back over a screen of a level and all above it.
  fileprivate mutating func leave(_ screen: (level: Int, count: Int)) {
    // The flows above it are cancelled.
    levels.removeSubrange((screen.level + 1)...)
    follow(.ended(.back), over: screen.count)
  }

  /// Follows the transition after the current step, or goes back over several.
  fileprivate mutating func follow(_ end: FlowEnd, over count: Int = 1) {
    var end = end
    var count = count
    while var level = levels.popLast(), let step = level.path.top {
      var move = FlowMove.back
      if case .ended(.back) = end {
        move = level.goBack(over: count) { FlowLogEntry(step: $0.name, end: .ended(.back)) }.move
      } else {
        move = level.move(after: step, end)
        level.follow(move, by: FlowLogEntry(step: step.name, end: end))
        // Going back skips work.
        if case .back = move { move = level.goBack(over: 0) { FlowLogEntry(step: $0.name, end: .ended(.back)) }.move }
      }
      guard case .end(let outer) = move else { return levels.append(level) }
      (end, count) = (outer, 1)
    }
    self.end = end
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

  init<Output>(_ flow: Flow<Output>, isAnswered: @escaping (AnyFlowStep) -> Bool) {
    definition = flow.definition
    self.isAnswered = isAnswered
  }

  func begin() -> FlowWalk { walk(from: FlowWalk()) { try $0.enter(definition) } }

  /// Follows the transition after the current step.
  func follow(_ end: FlowEnd, from walk: FlowWalk) -> FlowWalk { self.walk(from: walk) { $0.follow(end) } }

  /// Goes back over each number of screens.
  func goBack(from walk: FlowWalk) -> [FlowWalk] {
    guard let step = walk.steps.last else { return [] }
    let one = step.isWork ? [] : [follow(.ended(.back), from: walk)]
    return one + walk.lowerScreens.map { screen in self.walk(from: walk) { $0.leave(screen) } }
  }

  /// Restores all contents to those before the walk.
  func restore() {
    for original in originals { try? original.step.restore(original.content) }
  }

  private func walk(from start: FlowWalk, _ go: (inout FlowWalk) throws -> Void) -> FlowWalk {
    AnyFlowStep.willSetContent = { step in
      guard !self.originals.contains(where: { $0.step === step }) else { return }
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
