// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

/// A file of the new world.
enum NewChains {
  static func run<Input, Output>(_ chain: Chain<Input, Output>, with input: Input) async throws -> Output {
    try await chain.then { $0 }.run(input)
  }

  /// Cancels a run of a chain that has begun, does what lets it end, and returns the reason it ends with.
  static func cancel(_ chain: Chain<Int, Int>, after begun: Recorder<String>, then end: () -> Void) async -> String? {
    let run = chain.start(1)
    await begun.elements(atLeast: 1)
    run.cancel(reason: "left the screen")
    end()
    guard case .cancelled(let cancellation) = await run.outcome else { return nil }
    return cancellation.reason
  }

  /// Records how often a handler was called, each time that this is reported.
  static func recordingMisuse() -> Recorder<Int> {
    let reports = Recorder<Int>()
    ResolverMisuse.handler = { misuse in reports.record(misuse.count) }
    return reports
  }

  static func characterCount(telling seen: Recorder<String>) -> Chain<String, Int> {
    Chain { (text: String) in text.count }.finally { _ in seen.record("new finally") }
  }

  static func endless(telling seen: Recorder<String>) -> Chain<String, Int> {
    Chain { (text: String) in
      seen.record("begun")
      try await ManualClock().sleep(until: .init(offset: .seconds(1)))
      return text.count
    }.finally { state in
      if case .cancelled(let cancellation) = state { seen.record("new finally: \(cancellation.reason ?? "")") }
    }
  }
}
