// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

private enum Question: String, Codable {
  case name, size, count, confirm

  func text(_ order: Order) -> String {
    switch self {
    case .name: "Name?"
    case .size: "Size, \(order.name)?"
    case .count: "How many?"
    case .confirm: "\(order.count) × \(order.size) for \(order.name)?"
    }
  }
}

private struct Answer: Codable {
  var question: Question
  var line: String
}

private struct UnexpectedAnswer: Error {}

/// Returns the order, or the answers that a later call resumes with.
@MainActor func orderInPlainSwift(_ terminal: Terminal, resuming saved: Data?) async throws -> (Order?, Data) {
  var replayed = try saved.map { try JSONDecoder().decode([Answer].self, from: $0) } ?? []
  var path: [(question: Question, order: Order)] = [(.name, Order())]
  var answers: [Answer] = []
  func push(_ question: Question, _ order: Order) {
    path.append((question, order))
  }
  while let (question, order) = path.last {
    try Task.checkCancellation()
    var line: String
    if replayed.isEmpty {
      terminal.show(question.text(order))
      line = terminal.readLine()
    } else {
      let answer = replayed.removeFirst()
      guard answer.question == question else { throw UnexpectedAnswer() }
      line = answer.line
    }
    if line == "!" { return (nil, try JSONEncoder().encode(answers)) }
    if question == .confirm, line != "y" { line = "<" }
    if line == "<" {
      path.removeLast()
      if !answers.isEmpty { answers.removeLast() }
      continue
    }
    var next = order
    switch question {
    case .name:
      next.name = line
      push(.size, next)
    case .size:
      next.size = line
      push(.count, next)
    case .count:
      guard let number = Int(line) else { continue }
      next.count = number
      push(.confirm, next)
    case .confirm:
      return (order, try JSONEncoder().encode(answers))
    }
    answers.append(Answer(question: question, line: line))
  }
  return (nil, try JSONEncoder().encode(answers))
}
