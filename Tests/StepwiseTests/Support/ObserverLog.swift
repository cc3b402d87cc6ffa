// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting

@testable import Stepwise

/// Writes each event of the runs with a prefix in their names as a line; runs are numbered in the order of their starts.
final class ObserverLog: RunObserver {
  private let recorder = Recorder<String>()
  private let ids = Lock<[UInt64]>([])
  private let label: String

  init(_ label: String = "") { self.label = label }

  var lines: [String] { recorder.elements }

  func lines(atLeast count: Int) async -> [String] { await recorder.elements(atLeast: count) }

  func runStarted(_ run: ObservedRun) {
    ids.withLock { $0.append(run.id) }
    write("run \(number(run.id)) \(run.name) started" + (run.parentID.map { " in \(number($0))" } ?? ""))
  }

  func stepStarted(_ step: ObservedStep) {
    write("\(number(step.run.id)) \(step) started" + (step.attempt > 1 ? " again, \(step.attempt)" : ""))
  }

  func attemptFailed(_ step: ObservedStep, attempt: Int, error: any Error) {
    write("\(number(step.run.id)) \(step) attempt \(attempt) failed: \(error)")
  }

  func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) {
    write("\(number(step.run.id)) \(step) finished" + (error.map { ": \($0)" } ?? ""))
  }

  func stepUndone(_ step: ObservedStep, error: (any Error)?) {
    write("\(number(step.run.id)) \(step) undone" + (error.map { ": \($0)" } ?? ""))
  }

  func runEnded(_ run: ObservedRun, duration: Duration, outcome: ChainState) {
    write("run \(number(run.id)) ended \(outcome)")
  }

  private func number(_ id: UInt64) -> Int { ids.withLock { $0.firstIndex(of: id).map { $0 + 1 } ?? 0 } }

  private func write(_ line: String) { recorder.record(label + line) }
}
