// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows

/// A screen of a terminal: some lines, and the interpretation of a typed line.
@MainActor
final class TerminalScreen {
  let title: String
  private(set) var text: String
  let hint: String
  private let answer: (String) -> Bool
  private let goBack: () -> Void
  private let isAnswered: () -> Bool

  /// Creates a screen that retains the handler.
  ///
  /// - Parameters:
  ///   - title: The heading.
  ///   - hint: What can be typed, besides `back`.
  ///   - handler: The handler of the step.
  ///   - text: Returns the text for the content.
  ///   - answer: Returns the result for a line; nil for an invalid one.
  init<Content, Result>(
    _ title: String,
    hint: String,
    _ handler: FlowStepHandler<Content, Result>,
    text: @escaping (Content) -> String,
    answer: @escaping (String) -> Result?
  ) {
    self.title = title
    self.hint = hint
    self.text = text(handler.content)
    self.answer = { line in
      guard let result = answer(line) else { return false }
      handler.complete(result)
      return true
    }
    goBack = { handler.back() }
    isAnswered = { handler.isFinished }
    handler.onContent { [weak self] content in self?.text = text(content) }
  }

  /// Whether the step still waits for a result.
  var isAsking: Bool { !isAnswered() }

  /// Handles a line; returns whether it is valid.
  func type(_ line: String) -> Bool {
    if line == "back" {
      goBack()
      return true
    }
    return answer(line)
  }
}
