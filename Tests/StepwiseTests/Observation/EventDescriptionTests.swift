// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import Testing

/// Events are logged, and what a run works on may be personal.
@Suite(.timeLimit(.minutes(5)))
struct EventDescriptionTests {
  private let step = ChainStep(index: 0, name: "load")

  @Test
  func `An event names the type of a stage or a value, and never contains it`() {
    let events: [(ChainEvent, String)] = [
      (.started, "started"), (.stepStarted(step), "load started"), (.stepProgress(step, 0.5), "load at 0.5"),
      (.stepRetrying(step, attempt: 2), "load starts attempt 2"),
      (.stageReached(step, ["secret"]), "load reached Array<String>"),
      (.stepFinished(step, duration: .seconds(1), error: nil), "load finished after 1.0 seconds"),
      (.stepFinished(step, duration: .seconds(1), error: Fault(1)), "load failed after 1.0 seconds: Fault(number: 1)"),
      (.undone(step, error: nil), "load undone"),
      (.undone(step, error: Fault(1)), "undo of load failed: Fault(number: 1)"),
      (.ended(.resolved("secret")), "succeeded with String"),
    ]
    for (event, text) in events { #expect("\(event)" == text) }
  }

  @Test
  func `The debug description of an event has the stage or the value`() {
    #expect(String(reflecting: ChainEvent.stageReached(step, ["secret"])) == "load reached [\"secret\"]")
    #expect(String(reflecting: ChainEvent.ended(.resolved("secret"))) == "succeeded with \"secret\"")
  }
}
