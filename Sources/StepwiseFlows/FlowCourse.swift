// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// What a rule of `on` decides: the next step, back, or the end of the flow.
///
/// Return one from each of your rules.
@MainActor
public struct FlowTransition<Output: Sendable> {
  let move: FlowMove

  /// Presents a step with a content.
  ///
  /// When the step is already on the path, the flow returns to it: the path and the answer log are cut there. The log
  /// stores the new content.
  public static func next<Content, Result>(_ step: FlowStep<Content, Result>, _ content: Content) -> FlowTransition {
    FlowTransition(move: .present(step) { step.content = content })
  }

  /// Presents a step that has its content, or needs none.
  public static func next<Content, Result>(_ step: FlowStep<Content, Result>) -> FlowTransition {
    FlowTransition(move: .present(step) {})
  }

  /// Presents a step that replaces the current one: going back skips it.
  public static func replace<Content, Result>(_ step: FlowStep<Content, Result>, _ content: Content) -> FlowTransition {
    FlowTransition(move: .present(step, isReplacing: true) { step.content = content })
  }

  /// Presents a step that has its content, or needs none, and replaces the current step.
  public static func replace<Content, Result>(_ step: FlowStep<Content, Result>) -> FlowTransition {
    FlowTransition(move: .present(step, isReplacing: true) {})
  }

  /// Presents the previous step again; from the first step, the flow ends as back.
  public static var back: FlowTransition { FlowTransition(move: .back) }

  /// Finishes the flow with its output.
  public static func finish(_ output: Output) -> FlowTransition {
    FlowTransition(move: .end(.answered(Box(output))))
  }

  /// Fails the flow with an error.
  public static func fail(_ error: any Error) -> FlowTransition { FlowTransition(move: .end(.ended(.failed(error)))) }
}

extension FlowTransition where Output == Void {
  /// Finishes the flow.
  public static var finish: FlowTransition { finish(()) }
}

/// A transition without the type of the flow's output.
package enum FlowMove {
  /// Presents a step, which may replace the current one; `prepare` sets its content.
  case present(AnyFlowStep, isReplacing: Bool = false, prepare: @MainActor () -> Void)
  case back
  case end(FlowEnd)
}

/// What a flow is made of: its steps, and what follows each of them.
@MainActor
package struct FlowDefinition {
  struct Link {
    var onAnswer: (@MainActor (any AnyBox) throws -> FlowMove)?
    var onEnding: (@MainActor (FlowEnding) throws -> FlowMove?)?
    var targets: [AnyFlowStep] = []
  }

  let name: String
  let logging: FlowLogging
  /// Saves the answers before a step is presented.
  var save: (@MainActor (FlowLog) async throws -> Void)?
  /// Nil for that of the enclosing flow.
  var limit: FlowDismissalLimit?
  let first: AnyFlowStep
  let prepareFirst: @MainActor () -> Void
  /// Returns the output of a flow that ends with a result; nil when that has another type.
  let output: @MainActor (any AnyBox) -> (any AnyBox)?
  /// All steps that the definition names, in order of appearance.
  package private(set) var steps: [AnyFlowStep] = []
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

  /// Returns the transition after a step; throws what `on` throws, and for a result without a rule.
  func move(after step: AnyFlowStep, _ end: FlowEnd) throws -> FlowMove {
    let link = self[step]
    switch end {
    case .answered(let box):
      func isBox<Value: Sendable>(of type: Value.Type) -> Bool { box is Box<Value> }
      guard isBox(of: step.resultType) else { throw FlowError(.wrongAnswer, step: step.name) }
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

/// The progress of a run or a walk through a flow, which neither presents steps nor suspends.
@MainActor
package struct FlowCourse {
  package let definition: FlowDefinition
  /// The step to start with instead of the first one.
  private let start: AnyFlowStep?
  package private(set) var path: FlowPath<AnyFlowStep, FlowLogEntry>
  private var named: [String: AnyFlowStep]

  package init(_ definition: FlowDefinition, startingAt start: AnyFlowStep? = nil) {
    self.definition = definition
    self.start = start
    path = FlowPath(first: start ?? definition.first, keepsAll: definition.logging.keepsAll)
    named = Dictionary(definition.steps.map { ($0.name, $0) }) { first, _ in first }
    if let start { named[start.name] = start }
  }

  /// Checks the steps, and sets the initial content, unless another flow presents the first step with its own content.
  package func prepare() throws {
    for step in definition.steps where named[step.name] !== step { throw FlowError(.duplicateName, step: step.name) }
    let first = definition.first
    try (start ?? first).checkFree()
    // The caller has set the content of the step that it starts with.
    if start == nil || (start === first ? !first.hasContent : first.isFree) { definition.prepareFirst() }
  }

  /// Runs the rule that `on` set for a step, which may read the flow, and sets the content of the next step.
  ///
  /// Back from the first step ends the flow, and a step on the path replaces nothing.
  package func move(after step: AnyFlowStep, _ end: FlowEnd) -> FlowMove {
    do {
      switch try definition.move(after: step, end) {
      case .present(let next, let isReplacing, let prepare):
        guard named[next.name, default: next] === next else { throw FlowError(.duplicateName, step: next.name) }
        try next.checkFree()
        prepare()
        guard next.hasContent else { throw FlowError(.noContent, step: next.name) }
        return .present(next, isReplacing: isReplacing && !path.contains(next), prepare: prepare)
      case .back where path.steps.count == 1: return .end(.ended(.back))
      case let move: return move
      }
    } catch {
      return .end(.ended(.failed(error)))
    }
  }

  /// Returns how the flow ends if the rule of a step ends it; otherwise the rule has no effect.
  func end(after step: AnyFlowStep, _ end: FlowEnd) -> FlowEnd? {
    do {
      if case .end(let end) = try definition.move(after: step, end) { return end }
      return nil
    } catch {
      return .ended(.failed(error))
    }
  }

  /// Goes back over the newest steps, newest first, as if the user had gone back from each of them alone; then over work.
  ///
  /// The first rule that leads elsewhere decides. Of several steps, all then leave the path, the remaining ones without
  /// their rules. `entry` is called for each step before its rule.
  ///
  /// - Returns: The step whose rule decided, with its entry, or that the user went back from; and what left the path.
  package mutating func goBack(
    over count: Int,
    entry: (AnyFlowStep) -> FlowLogEntry
  ) -> (move: FlowMove, from: AnyFlowStep?, left: [AnyFlowStep], entry: FlowLogEntry?) {
    let first = path.top
    var left: [AnyFlowStep] = []
    var remaining = count
    while let step = path.top, remaining > 0 || step.isWork {
      var entry = entry(step)
      var move = move(after: step, .ended(.back))
      if case .present(let next, _, let prepare) = move, count > 1, remaining > 0 {
        entry.leaving = remaining
        move = .present(next, prepare: prepare)
      }
      left += follow(move, by: entry)
      guard case .back = move else { return (move, step, left, entry) }
      remaining -= 1
    }
    return (.back, first, left, nil)
  }

  /// Changes the path, and returns the steps that left it, newest first.
  @discardableResult
  package mutating func follow(_ move: FlowMove, by entry: FlowLogEntry) -> [AnyFlowStep] {
    switch move {
    case .present(let next, let isReplacing, _):
      named[next.name] = next
      guard entry.leaving == 0 else { return path.drop(entry.leaving) + path.next(next, by: entry) }
      return isReplacing ? path.replace(with: next, by: entry) : path.next(next, by: entry)
    case .back, .end(.ended(.back)): return path.back(by: entry)
    case .end(.answered): path.finish(by: entry)
    case .end(.ended): path.fail(by: entry)
    }
    return []
  }
}

/// The path of a flow: the steps that going back leads through, and the answers between them.
///
/// A step is on the path at most once, and only answers between steps on the path are stored, so neither grows with the
/// number of transitions. With `keepsAll` no answer is ever removed.
package struct FlowPath<Step: Hashable, Answer> {
  /// The steps that replaced each other at one position, the current one last, each with the number of answers when it
  /// joined the path.
  private typealias Place = [(step: Step, mark: Int)]

  private var places: [Place]
  /// The answers between the steps on the path.
  private var between: [Answer] = []
  /// Every answer, if all are stored.
  private var all: [Answer]?

  init(first: Step, keepsAll: Bool = false) {
    all = keepsAll ? [] : nil
    places = [[(first, 0)]]
  }

  /// The steps, the first one first.
  package var steps: [Step] { places.compactMap(\.last?.step) }

  var answers: [Answer] { all ?? between }

  /// The current step; nil once the flow has gone back from the first one.
  package var top: Step? { places.last?.last?.step }

  func contains(_ step: Step) -> Bool { position(of: step) != nil }

  private func position(of step: Step) -> Int? { places.firstIndex { $0.last?.step == step } }

  /// Continues to a step, or returns to it when it is on the path; returns the steps that left it, newest first.
  mutating func next(_ step: Step, by answer: Answer) -> [Step] {
    all?.append(answer)
    if let position = position(of: step) { return cut(to: position) }
    between.append(answer)
    places.append([(step, between.count)])
    return []
  }

  /// Goes back by one step, also from the first one; returns the step that left the path.
  mutating func back(by answer: Answer) -> [Step] {
    all?.append(answer)
    return cut(to: max(places.count - 2, -1))
  }

  /// Replaces the newest step, or returns to the given step when it is on the path; returns what left it.
  mutating func replace(with step: Step, by answer: Answer) -> [Step] {
    guard !contains(step), var place = places.popLast(), let old = place.last?.step else {
      return next(step, by: answer)
    }
    all?.append(answer)
    if let index = place.firstIndex(where: { $0.step == step }) {
      // The step was here before: discard the answers of the detour.
      between.removeSubrange(place[index].mark...)
      place.removeSubrange((index + 1)...)
    } else {
      between.append(answer)
      place.append((step, between.count))
    }
    places.append(place)
    return [old]
  }

  /// Removes the newest steps, whose answers remain those that lead to the next one; returns them, newest first.
  mutating func drop(_ count: Int) -> [Step] {
    let left = places.suffix(count).reversed().compactMap(\.last?.step)
    places.removeLast(min(count, places.count))
    return left
  }

  mutating func finish(by answer: Answer) {
    all?.append(answer)
    between.append(answer)
  }

  /// Stores the answer that failed the flow, if all answers are stored; the path ends before it.
  mutating func fail(by answer: Answer) { all?.append(answer) }

  private mutating func cut(to position: Int) -> [Step] {
    let left = places[(position + 1)...].reversed().compactMap(\.last?.step)
    places.removeSubrange((position + 1)...)
    between.removeSubrange((places.last?.last?.mark ?? 0)...)
    return left
  }
}
