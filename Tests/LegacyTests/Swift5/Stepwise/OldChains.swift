// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyStepwise
import StepwiseTesting

/// A file of the old world.
@available(*, deprecated)
enum OldChains {
  static func characterCount(telling seen: Recorder<String>) -> StepChain<String, Int, String, Int> {
    toStep { (text: String) -> Int in
      guard !text.isEmpty else { throw Fault("empty") }
      return text.count
    }.onError { error in
      seen.record("error: \(error)")
    }.finally { state in
      seen.record(state.resolved ? "resolved" : "errored")
    }
  }

  static func waiting(
    telling seen: Recorder<String>,
    handlers: Recorder<Handler<Int>> = Recorder()
  ) -> StepChain<Int, Int, Int, Int> {
    toStep { (_: Int, handler: Handler<Int>) in
      handlers.record(handler)
      seen.record("begun")
    }.then { number in
      number
    }.finally { state in
      if case .Canceled(let token) = state { seen.record("canceled: \(token.reason ?? "")") }
    }
  }

  /// Its first step continues with a chain in place of the second one.
  static func optionalCount<Output>(
    continuingWith chain: StepChain<Int, Output, Int, Output>
  ) -> StepChain<String, Int, Int, Int?> {
    toStep { (step: Step<String, Int>) in step.resolve(step.input.count, then: chain) }
      .then { number -> Int? in number }
  }

  static func double() -> StepChain<Int, Int, Int, Int> { toStep { (number: Int) -> Int in 2 * number } }
  static func text() -> StepChain<Int, String, Int, String> { toStep { (number: Int) -> String in "\(number)" } }

  static func printLength(
    of chain: StepChain<String, Int, String, Int>,
    telling seen: Recorder<String>
  ) -> StepChain<String, String, Int, Void> {
    toStep { (text: String) -> String in text }
      .then(chain)
      .then { number in seen.record("\(number)") }
      .finally { state in seen.record("old finally: \(state.resolved)") }
  }
}
