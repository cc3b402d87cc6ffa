// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import StepwiseTracing
import TestSupport
import Testing

/// The spans of steps that code performs within a step of a chain.
@Suite(.timeLimit(.minutes(5)))
struct StepTraceTests {
  private struct Fault: Error {}

  // G46
  @Test func `A trace nests steps`() async throws {
    let chain = Chain("plan") { () in
      try await step("a") {
        let attempts = Tally()
        try await step("b", retry: RetryPolicy(maxAttempts: 2, backoff: .none), timeout: .seconds(60)) {
          let attempt = attempts.increment()
          try await step("c \(attempt)") {
          } undo: {
          }
          if attempt == 1 { throw Fault() }
        }
      }
      async let d: Void = step("d") {}
      try await d
    }
    let trace = await trace { try await chain.run() }.trace
    func outline(_ span: RunTrace.Span, _ depth: Int = 0) -> [String] {
      let name = String(repeating: " ", count: depth) + span.name + (span.isUndone ? " undone" : "")
      return [name] + span.children.flatMap { outline($0, depth + 1) }
    }
    let lines = trace.runs.flatMap { outline($0) }
    #expect(lines == ["plan", " plan", "  a", "   b", "    c 1 undone", "    c 2", "  d"])
    #expect(trace.text.contains("attempt 1 failed"))
    // The only step of a chain of one closure is not a second row of the same name.
    #expect(trace.text.split(separator: "\n").prefix(2).map { $0.prefix(4) } == ["plan", "├─ a"])
    #expect(trace.svg.components(separatedBy: ">plan<").count == 2)
  }
}
