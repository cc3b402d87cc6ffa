// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTracing
import Testing

/// What the description of a chain says.
@Suite(.timeLimit(.minutes(5)))
struct DescriptionTests {
  @Test func `A modifier is drawn around the steps that it covers`() {
    let inner = Chain("d") { (number: Int) in number }.then("e") { $0 }
    let chain = Chain("a") { (number: Int) in number }
      .then("b") { $0 }
      .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
      .recover { _ in 0 }
      .then("c") { $0 }
      .timeout(.seconds(1))
      .appending(inner)
      .timeout(.seconds(2))
    #expect(
      chain.describe() == """
        - timeout 2.0 seconds
          - timeout 1.0 seconds
            - try
              - retry up to 2 attempts
                - a
                - b
            - recover
            - c
          - chain
            - d
            - e

        """
    )
  }

  @Test func `A step with an undo is marked`() {
    let chain = Chain("plain") { (number: Int) in number }.then("charge", undo: { _ in }) { $0 }.then(undo: { _ in }) {
      $0
    }
    #expect(chain.describe() == "- plain\n- charge, with undo\n- step 2, with undo\n")
    #expect(chain.describe(.mermaid).contains("[\"charge, with undo\"]"))
    #expect(!chain.describe(.mermaid).contains("plain, with undo"))
  }
}
