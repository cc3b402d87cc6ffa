// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Prints a table for each kind of body and each number of steps.
func printTables(effort: Effort) async throws {
  print("Medians of one run. x(a), x(b), x(c): how many times as long as that takes.")
  for bodies in Bodies.allCases {
    for steps in [1, 3, 10, 100, 10_000] {
      let forms = Forms(bodies, steps: steps).all
      let measurement = try await Measurement(of: forms, effort: effort)
      let title = "\(steps) \(steps == 1 ? "step" : "steps"), \(bodies.rawValue)"
      print("\n" + row(title, ["a run", "a step", "x(a)", "x(b)", "x(c)"]))
      for form in forms {
        let time = measurement[form.name].time
        let ratios = [Forms.byHand, Forms.loop, Forms.task].map { ratio(time / measurement[$0].time) }
        print(row(form.name, [duration(time), duration(time / Double(steps))] + ratios))
      }
    }
  }
}

private func row(_ title: String, _ cells: [String]) -> String {
  title + spaces(24 - title.count) + cells.map { spaces(11 - $0.count) + $0 }.joined()
}

private func spaces(_ count: Int) -> String { String(repeating: " ", count: max(1, count)) }

func duration(_ nanoseconds: Double) -> String {
  switch nanoseconds {
  case ..<1_000: "\(Int(nanoseconds.rounded())) ns"
  case ..<1_000_000: "\(decimal(nanoseconds / 1_000)) us"
  default: "\(decimal(nanoseconds / 1_000_000)) ms"
  }
}

func ratio(_ value: Double) -> String { value < 10 ? decimal(value) : "\(Int(value.rounded()))" }

/// A number with two decimals.
func decimal(_ value: Double) -> String {
  let hundredths = Int((value * 100).rounded())
  let (whole, rest) = hundredths.quotientAndRemainder(dividingBy: 100)
  return "\(whole).\(rest < 10 ? "0" : "")\(rest)"
}
