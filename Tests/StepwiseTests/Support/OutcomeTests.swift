// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct OutcomeTests {
  struct Full: Error, CustomStringConvertible {
    let description = "the disk is full"
  }

  @Test
  func `An outcome is printed as a person would say it, without its value`() {
    #expect("\(Outcome.resolved(42))" == "succeeded with Int")
    #expect("\(Outcome.resolved(["cat.png"]))" == "succeeded with Array<String>")
    #expect("\(Outcome<Void>.resolved(()))" == "succeeded")
    #expect("\(Outcome<Int>.failed(Full()))" == "failed: the disk is full")
    #expect("\(Outcome<Int>.cancelled(Cancellation()))" == "cancelled")
    #expect("\(Outcome<Int>.cancelled(Cancellation(reason: "left the screen")))" == "cancelled: left the screen")
  }

  @Test
  func `A chain's state is printed as an outcome is`() {
    #expect("\(ChainState.resolved(42))" == "succeeded with Int")
    #expect("\(ChainState.resolved(()))" == "succeeded")
    #expect("\([ChainState.failed(Full())])" == "[failed: the disk is full]")
  }

  @Test
  func `The debug description of an outcome has its value`() {
    #expect(String(reflecting: Outcome.resolved("cat.png")) == "succeeded with \"cat.png\"")
    #expect(String(reflecting: ChainState.resolved(42)) == "succeeded with 42")
    #expect(String(reflecting: ChainState.resolved(())) == "succeeded")
    #expect(String(reflecting: Outcome<Int>.failed(Full())) == "failed: the disk is full")
  }

  @Test
  func `A cancellation names its reason and the error of the interrupted work`() {
    let full = Cancellation(reason: "left the screen", underlyingError: Full())
    #expect("\(full)" == "cancelled: left the screen (interrupted: the disk is full)")
    #expect("\(Cancellation(underlyingError: Full()))" == "cancelled (interrupted: the disk is full)")
  }

  @Test
  func `A timeout names its step and the limit`() {
    let slow = TimeoutError(step: "download", duration: .seconds(5), underlyingError: Full())
    #expect("\(slow)" == "download did not end within 5 seconds: the disk is full")
    #expect("\(TimeoutError(step: "step 3", duration: .seconds(1)))" == "step 3 did not end within 1 second")
    #expect("\(TimeoutError(step: "a", duration: .milliseconds(200)))" == "a did not end within 0.2 seconds")
  }

  @Test
  func `A dump shows the case and what it carries`() {
    var text = ""
    dump(Outcome.resolved(42), to: &text)
    #expect(text.contains("resolved: 42"))
  }
}
