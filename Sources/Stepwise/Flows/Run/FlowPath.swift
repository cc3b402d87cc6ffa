// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The path of a flow: the steps that going back leads through, and the answers between them.
///
/// A step is on the path at most once, and only answers between steps on the path are stored, so neither grows with the
/// number of transitions. With `keepsAll` no answer is ever removed.
package struct FlowPath<Step: Hashable, Answer> {
  private struct Place {
    var step: Step
    /// The number of answers when the step joined the path.
    var mark: Int
    /// The steps that this one replaced, directly or not, each with its mark.
    var replaced: [(step: Step, mark: Int)] = []
  }

  private var places: [Place] = []
  private var positions: [Step: Int] = [:]
  private let keepsAll: Bool
  package private(set) var answers: [Answer] = []

  package init(first: Step, keepsAll: Bool = false) {
    self.keepsAll = keepsAll
    places = [Place(step: first, mark: 0)]
    positions[first] = 0
  }

  /// The steps, the first one first.
  package var steps: [Step] { places.map(\.step) }

  /// The current step; nil once the flow has gone back from the first one.
  package var top: Step? { places.last?.step }

  package func contains(_ step: Step) -> Bool { positions[step] != nil }

  /// Continues to a step, or returns to it when it is on the path.
  ///
  /// - Returns: the steps that left the path, newest first.
  package mutating func next(_ step: Step, by answer: Answer) -> [Step] {
    if let position = positions[step] {
      if keepsAll { answers.append(answer) }
      return cut(to: position)
    }
    answers.append(answer)
    positions[step] = places.count
    places.append(Place(step: step, mark: answers.count))
    return []
  }

  /// Goes back by one step; removes the first step when it is the only one.
  ///
  /// - Returns: the step that left the path.
  package mutating func back(by answer: Answer) -> [Step] {
    if keepsAll { answers.append(answer) }
    guard places.count > 1 else {
      answers = keepsAll ? answers : []
      return removeLast()
    }
    return cut(to: places.count - 2)
  }

  /// Replaces the newest step, or returns to the given step when it is on the path.
  ///
  /// - Returns: the steps that left the path, newest first.
  package mutating func replace(with step: Step, by answer: Answer) -> [Step] {
    guard positions[step] == nil, let old = places.last else { return next(step, by: answer) }
    var place = old
    place.step = step
    if let index = place.replaced.firstIndex(where: { $0.step == step }) {
      // The step was here before: discard the answers of the detour.
      place.mark = place.replaced[index].mark
      place.replaced.removeSubrange(index...)
      if keepsAll { answers.append(answer) } else { answers.removeSubrange(place.mark...) }
    } else {
      place.replaced.append((old.step, old.mark))
      answers.append(answer)
      place.mark = answers.count
    }
    let left = removeLast()
    positions[step] = places.count
    places.append(place)
    return left
  }

  /// Stores the answer that finished the flow.
  package mutating func finish(by answer: Answer) {
    answers.append(answer)
  }

  /// Stores the answer that failed the flow, if all answers are stored; the path ends before it.
  package mutating func fail(by answer: Answer) {
    if keepsAll { answers.append(answer) }
  }

  private mutating func cut(to position: Int) -> [Step] {
    var left: [Step] = []
    while places.count - 1 > position { left += removeLast() }
    if !keepsAll, let place = places.last { answers.removeSubrange(place.mark...) }
    return left
  }

  private mutating func removeLast() -> [Step] {
    guard let place = places.popLast() else { return [] }
    positions[place.step] = nil
    return [place.step]
  }
}
