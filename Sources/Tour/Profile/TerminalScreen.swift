// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// A screen of a terminal: some lines, and what to make of a line that the user types.
@MainActor
final class TerminalScreen {
  let title: String
  private(set) var text: String
  let hint: String
  private let answer: (String) -> Bool
  private let goBack: () -> Void
  private let isAnswered: () -> Bool

  /// Creates a screen that keeps the handler.
  ///
  /// - Parameters:
  ///   - title: The heading.
  ///   - hint: What can be typed, besides `back`.
  ///   - handler: What the screen answers through.
  ///   - text: What is shown of the content.
  ///   - answer: Makes a result of a line; nil for one that makes no sense.
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

  /// Whether the flow still waits for an answer.
  var isAsking: Bool { !isAnswered() }

  /// Takes a line; returns whether it made sense.
  func type(_ line: String) -> Bool {
    if line == "back" {
      goBack()
      return true
    }
    return answer(line)
  }
}
