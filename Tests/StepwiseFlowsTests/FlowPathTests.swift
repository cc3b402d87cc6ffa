// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import StepwiseFlows

/// The path and the log, as a value.
@Suite(.timeLimit(.minutes(5)))
struct FlowPathTests {
  typealias Path = FlowPath<String, Int>

  @Test func `Next continues`() {
    var path = Path(first: "a")
    #expect(path.next("b", by: 1) == [])
    #expect(path.next("c", by: 2) == [])
    #expect(path.steps == ["a", "b", "c"])
    #expect(path.answers == [1, 2])
  }

  @Test func `Next to a step on the path truncates the path there`() {
    var path = Path(first: "a")
    for (step, answer) in [("b", 1), ("c", 2), ("d", 3)] { _ = path.next(step, by: answer) }
    #expect(path.next("b", by: 4) == ["d", "c"])
    #expect(path.steps == ["a", "b"])
    #expect(path.answers == [1])
    #expect(path.next("b", by: 5) == [])
    #expect(path.answers == [1])
  }

  @Test func `Back removes the newest step`() {
    var path = Path(first: "a")
    _ = path.next("b", by: 1)
    #expect(path.back(by: 2) == ["b"])
    #expect(path.steps == ["a"])
    #expect(path.answers == [])
    #expect(path.back(by: 3) == ["a"])
    #expect(path.top == nil)
  }

  @Test func `Replace keeps the answer and takes over the position`() {
    var path = Path(first: "a")
    _ = path.next("b", by: 1)
    #expect(path.replace(with: "c", by: 2) == ["b"])
    #expect(path.steps == ["a", "c"])
    #expect(path.answers == [1, 2])
    #expect(path.back(by: 3) == ["c"])
    #expect(path.answers == [])
  }

  @Test func `Replacing in circles does not grow the log`() {
    var path = Path(first: "a")
    for _ in 0..<100 {
      _ = path.replace(with: "b", by: 1)
      _ = path.replace(with: "c", by: 2)
      _ = path.replace(with: "a", by: 3)
    }
    #expect(path.steps == ["a"])
    #expect(path.answers == [])
  }

  @Test func `All keeps every answer`() {
    var path = Path(first: "a", keepsAll: true)
    _ = path.next("b", by: 1)
    _ = path.back(by: 2)
    _ = path.next("b", by: 3)
    _ = path.replace(with: "c", by: 4)
    _ = path.next("a", by: 5)
    _ = path.replace(with: "c", by: 6)
    path.fail(by: 7)
    #expect(path.answers == [1, 2, 3, 4, 5, 6, 7])
    #expect(path.steps == ["c"])
  }

  @Test func `The path ends before the step that failed`() {
    var path = Path(first: "a")
    _ = path.next("b", by: 1)
    path.fail(by: 2)
    #expect(path.answers == [1])
    path.finish(by: 3)
    #expect(path.answers == [1, 3])
  }

  // G122
  /// Against a plain list of steps with the answers that lead to each, over 1,000 seeds of events.
  @Test func `A path behaves like a plain list`() {
    for seed in seeds() {
      var dice = SeededGenerator(seed: seed)
      var path = FlowPath<Int, Int>(first: 0)
      var all = FlowPath<Int, Int>(first: 0, keepsAll: true)
      var list = [Entry(step: 0)]
      var given: [Int] = []
      for answer in 0..<100 {
        let step = Int.random(in: 0..<6, using: &dice)
        let before = list.map(\.step)
        let left: [Int]
        given.append(answer)
        switch Int.random(in: 0..<4, using: &dice) {
        case 0 where list.count > 1:
          left = path.back(by: answer)
          _ = all.back(by: answer)
          list.removeLast()
        case 1:
          left = path.replace(with: step, by: answer)
          _ = all.replace(with: step, by: answer)
          if !Entry.cut(&list, to: step) { list[list.count - 1].replace(with: step, by: answer) }
        default:
          left = path.next(step, by: answer)
          _ = all.next(step, by: answer)
          if !Entry.cut(&list, to: step) { list.append(Entry(step: step, answers: [answer])) }
        }
        let holds =
          path.steps == list.map(\.step) && path.answers == list.flatMap(\.answers)
          && left == before.filter { !path.contains($0) }.reversed()
          && all.steps == path.steps && all.answers == given
          && path.steps.count <= 6 && path.answers.count <= 36
        if !holds { Issue.record("seed \(seed), event \(answer)") }
      }
    }
  }

  /// A step with the answers that lead to it from the step before.
  private struct Entry {
    var step: Int
    var answers: [Int] = []
    var replaced: [(step: Int, answers: [Int])] = []

    mutating func replace(with new: Int, by answer: Int) {
      if let index = replaced.firstIndex(where: { $0.step == new }) {
        answers = replaced[index].answers
        replaced.removeSubrange(index...)
      } else {
        replaced.append((step, answers))
        answers.append(answer)
      }
      step = new
    }

    static func cut(_ list: inout [Entry], to step: Int) -> Bool {
      guard let index = list.firstIndex(where: { $0.step == step }) else { return false }
      list.removeSubrange((index + 1)...)
      return true
    }
  }
}
