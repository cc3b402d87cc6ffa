// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows

/// Runs a flow that turns in a circle a million times; returns whether memory stays flat.
@MainActor
func checkFlowMemory() async throws -> Bool {
  print("\nMemory of flows")
  var count = 0
  let there = FlowStep<Int, Int>("there") { handler in handler.complete(handler.content) }
  let back = FlowStep<Int, Int>("back") { handler in handler.complete(handler.content) }
  let flow = Flow<Int>("circle", first: there, content: 0)
    .on(there) { number, _ in .next(back, number) }
    .on(back) { number, _ in
      count += 1
      return count.isMultiple(of: 1_000_000) ? .finish(number) : .next(there, number + 1)
    }
  return try await grows(by: 4_000_000, "1,000,000 turns of a flow") { _ = try await flow.run() }
}
