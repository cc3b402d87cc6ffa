// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The scheduling decisions of a simulation that differ from the default, which lets a task run as long as it is ready.
///
/// A decision is made where at least two tasks are ready. Decisions are counted from 0, and so are the ready tasks,
/// from the one that has waited longest.
struct Schedule: Sendable, Hashable {
  struct Choice: Sendable, Hashable {
    let decision: Int
    let index: Int
  }

  /// In the order of the decisions.
  var choices: [Choice]

  init(_ choices: [Choice] = []) {
    self.choices = choices
  }
}

extension Schedule: CustomStringConvertible {
  /// For instance `3:1 7:2`: at decision 3 the second of the ready tasks runs, at decision 7 the third.
  var description: String {
    choices.map { "\($0.decision):\($0.index)" }.joined(separator: " ")
  }

  /// Reads what `description` writes.
  init(parsing text: String) throws(SimulationError) {
    var choices: [Choice] = []
    for word in text.split(whereSeparator: \.isWhitespace) {
      let numbers = word.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
      guard numbers.count == 2, let decision = numbers[0], let index = numbers[1], decision >= 0, index >= 0,
        decision > choices.last?.decision ?? -1
      else { throw .invalidSchedule(text) }
      choices.append(Choice(decision: decision, index: index))
    }
    self.init(choices)
  }
}
