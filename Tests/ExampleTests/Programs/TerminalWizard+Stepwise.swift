// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFlows

/// Returns the order, or the answers that a later call resumes with.
@MainActor func orderWithStepwise(_ terminal: Terminal, resuming saved: Data?) async throws -> (Order?, Data) {
  func question(_ name: String, _ text: @escaping (Order) -> String) -> FlowStep<Order, String> {
    FlowStep(name) { handler in
      terminal.show(text(handler.content))
      switch terminal.readLine() {
      case "<": handler.back()
      case "!": handler.cancel()
      case let line: handler.complete(line)
      }
    }
  }
  let name = question("name") { _ in "Name?" }
  let size = question("size") { order in "Size, \(order.name)?" }
  let count = question("count") { _ in "How many?" }
  let confirm = question("confirm") { order in "\(order.count) × \(order.size) for \(order.name)?" }
  let flow = Flow<Order>("order", first: name, content: Order())
    .on(name, leadsTo: [size]) { answer, step in .next(size, step.content.with(\.name, answer)) }
    .on(size, leadsTo: [count]) { answer, step in .next(count, step.content.with(\.size, answer)) }
    .on(count, leadsTo: [confirm]) { answer, step in
      guard let number = Int(answer) else { return .replace(count, step.content) }
      return .next(confirm, step.content.with(\.count, number))
    }
    .on(confirm) { answer, step in answer == "y" ? .finish(step.content) : .back }
  let order: Order?
  do {
    order = try await flow.replay(answers: saved.map { try JSONDecoder().decode(FlowLog.self, from: $0) } ?? [])
  } catch is CancellationError {
    order = nil
  }
  return (order, try JSONEncoder().encode(flow.answers))
}

extension Order {
  fileprivate func with<Value>(_ field: WritableKeyPath<Order, Value>, _ value: Value) -> Order {
    var order = self
    order[keyPath: field] = value
    return order
  }
}
