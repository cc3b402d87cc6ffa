// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The path of a flow: the steps that going back leads through, and the answers between them.
///
/// A step is on the path at most once, and only answers between steps on the path are stored, so neither grows with the
/// number of transitions. With `keepsAll` no answer is ever removed.
package struct FlowPath<Step: Hashable, Answer> {
  /// The steps that replaced each other at one position, the current one last, each with the number of answers when it
  /// joined the path.
  private typealias Place = [(step: Step, mark: Int)]

  private var places: [Place]
  private var positions: [Step: Int] = [:]
  /// The answers between the steps on the path.
  private var between: [Answer] = []
  /// Every answer, if all are stored.
  private var all: [Answer]?

  package init(first: Step, keepsAll: Bool = false) {
    all = keepsAll ? [] : nil
    places = [[(first, 0)]]
    positions[first] = 0
  }

  /// The steps, the first one first.
  package var steps: [Step] { places.compactMap(\.last?.step) }

  package var answers: [Answer] { all ?? between }

  /// The current step; nil once the flow has gone back from the first one.
  package var top: Step? { places.last?.last?.step }

  package func contains(_ step: Step) -> Bool { positions[step] != nil }

  /// Continues to a step, or returns to it when it is on the path.
  ///
  /// - Returns: the steps that left the path, newest first.
  package mutating func next(_ step: Step, by answer: Answer) -> [Step] {
    all?.append(answer)
    if let position = positions[step] { return cut(to: position) }
    between.append(answer)
    positions[step] = places.count
    places.append([(step, between.count)])
    return []
  }

  /// Goes back by one step; removes the first step when it is the only one.
  ///
  /// - Returns: the step that left the path.
  package mutating func back(by answer: Answer) -> [Step] {
    all?.append(answer)
    return cut(to: max(places.count - 2, -1))
  }

  /// Replaces the newest step, or returns to the given step when it is on the path.
  ///
  /// - Returns: the steps that left the path, newest first.
  package mutating func replace(with step: Step, by answer: Answer) -> [Step] {
    guard positions[step] == nil, var place = places.popLast(), let old = place.last?.step else {
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
    positions[old] = nil
    positions[step] = places.count
    places.append(place)
    return [old]
  }

  /// Stores the answer that finished the flow.
  package mutating func finish(by answer: Answer) {
    all?.append(answer)
    between.append(answer)
  }

  /// Stores the answer that failed the flow, if all answers are stored; the path ends before it.
  package mutating func fail(by answer: Answer) {
    all?.append(answer)
  }

  private mutating func cut(to position: Int) -> [Step] {
    let left = places[(position + 1)...].reversed().compactMap(\.last?.step)
    for step in left { positions[step] = nil }
    places.removeSubrange((position + 1)...)
    between.removeSubrange((places.last?.last?.mark ?? 0)...)
    return left
  }
}
