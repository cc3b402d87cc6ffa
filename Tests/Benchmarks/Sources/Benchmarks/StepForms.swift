// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Calls of `step` in a plain run that nothing observes, as often as requested, and the same calls by hand.
struct StepForms {
  static let checked = "a closure, called after a check for cancellation"
  static let plain = "step"
  static let undone = "step, with undo"
  static let retried = "step, with retry"
  static let limited = "step, with a time limit"

  let all: [Form]

  init() {
    let closure = Bodies.async.closures(1)[0]
    let policy = RetryPolicy(maxAttempts: 3, backoff: .none)
    all = [
      Self.form(Self.checked) { value in
        try Task.checkCancellation()
        return try await closure(value)
      },
      Self.form(Self.plain) { value in try await step("step") { try await closure(value) } },
      Self.form(Self.undone) { value in
        try await step("step") {
          try await closure(value)
        } undo: { _ in
        }
      },
      Self.form(Self.retried) { value in try await step("step", retry: policy) { try await closure(value) } },
      Self.form(Self.limited) { value in try await step("step", timeout: .seconds(60)) { try await closure(value) } },
    ]
  }

  private static func form(
    _ name: String,
    _ call: nonisolated(nonsending) @escaping @Sendable (Int) async throws -> Int
  ) -> Form {
    let chain = Chain { (times: Int) in
      var value = 0
      for _ in 0..<times { value = try await call(value) }
      return value
    }
    return Form(name) { times in
      let value = try await chain.run(times)
      precondition(value == times)
    }
  }
}

extension FormBound {
  static let ofSteps = [FormBound(form: StepForms.plain, reference: StepForms.checked, limit: 2.2)]
}

/// Prints the bounds of calls of `step` and what is reached, and returns whether all are kept.
func checkStepBounds(effort: Effort) async throws -> Bool {
  print("\nThresholds of calls of `step`")
  return try await check(FormBound.ofSteps, effort) { StepForms().all }
}

/// Prints what a call of `step` costs in each form.
func printStepTables(effort: Effort) async throws {
  let forms = StepForms().all
  let measurement = try await Measurement(of: forms, effort: effort)
  print("\ncalls in a run")
  for form in forms {
    let ratio = ratio(measurement[form.name].time / measurement[forms[0].name].time)
    print("\(form.name): \(duration(measurement[form.name].time)), \(ratio) times \(forms[0].name)")
  }
}
