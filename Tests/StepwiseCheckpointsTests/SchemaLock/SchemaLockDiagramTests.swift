// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import StepwiseTracing
import Testing

@Suite(.timeLimit(.minutes(5))) struct SchemaLockDiagramTests {
  @Test
  func `A lock draws its samples, one stage for each case`() {
    let lock = SchemaLock(samples: [Count.at(0), .at(1), .done("three")])
    #expect(lock.describe() == "- at\n  -> done\n- done\n")
    #expect(lock.describe(.mermaid).contains("n0 --> n1\n"))
  }
}
