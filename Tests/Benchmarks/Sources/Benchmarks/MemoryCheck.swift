// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

/// A very long chain, built, run and released on a thread with a small stack.
struct MemoryCheck: Sendable {
  enum Form: String, CaseIterable {
    case run, start
  }

  static let option = "--memory-of"

  let form: Form
  let steps: Int

  static func all(steps: Int) -> [MemoryCheck] {
    Form.allCases.map { MemoryCheck(form: $0, steps: steps) }
  }

  init(form: Form, steps: Int) {
    self.form = form
    self.steps = steps
  }

  init?(_ arguments: [String]) {
    guard let form = Form(rawValue: arguments[0]), let steps = Int(arguments[1]), steps > 0 else { return nil }
    self.init(form: form, steps: steps)
  }

  /// Performs the check in a process of its own, since the peak of a process never goes down.
  func performApart() throws -> Bool {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = [Self.option, form.rawValue, "\(steps)"]
    // What was printed so far comes before what that one prints.
    fflush(nil)
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }

  /// Prints what it took and returns whether the bounds are kept.
  func perform() async throws -> Bool {
    let thread = SmallStackThread(stackSize: 512 * 1024)
    let (steps, form) = (steps, form)
    let before = peakMemory()
    let (building, running, releasing) = try await Task(executorPreference: thread) {
      let clock = ContinuousClock()
      var chain: Chain<Int, Int>?
      let building = clock.measure { chain = Bodies.async.chain(steps) }
      let running = try await clock.measure {
        let result =
          switch form {
          case .run: try await chain?.run(0)
          case .start: try await chain?.start(0).value
          }
        precondition(result == steps, "the steps gave \(result as Any) instead of \(steps)")
      }
      return (building, running, clock.measure { chain = nil })
    }.value
    let bytes = Double(peakMemory() - before) / Double(steps)
    let isKept = building < .seconds(2) && bytes < limit
    print(
      """

      \(form.rawValue) of \(steps) steps on a stack of 512 KiB: \(isKept ? "kept" : "BROKEN")
        built in \(decimal(building / .seconds(1))) s of 2.00, run in \(decimal(running / .seconds(1))) s, \
      released in \(decimal(releasing / .seconds(1))) s
        \(decimal(bytes)) bytes a step at the peak of \(decimal(limit))
      """
    )
    return isKept
  }

  private var limit: Double {
    // A shorter chain shares what does not depend on its length among fewer steps.
    switch form {
    case .run: steps < 1_000_000 ? 170 : 140
    case .start: steps < 1_000_000 ? 220 : 150
    }
  }
}
