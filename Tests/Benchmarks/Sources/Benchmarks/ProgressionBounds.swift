// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The thresholds for forms other than chains, compared in one run.
struct FormBound {
  let form: String
  let reference: String
  let limit: Double

  static let ofStages = [
    FormBound(form: ProgressionForms.stages, reference: ProgressionForms.loop, limit: 1.6),
    FormBound(form: ProgressionForms.run, reference: ProgressionForms.loop, limit: 1.5),
  ]
  static let ofLines = [
    FormBound(form: ProgressionForms.line, reference: ProgressionForms.group, limit: 1.35)
  ]
}

/// Prints the bounds of progressions and what is reached, the median of three runs, and returns whether all are kept.
func checkProgressionBounds(effort: Effort) async throws -> Bool {
  print("\nThresholds of progressions")
  let stages = try await check(FormBound.ofStages, effort) { ProgressionForms(stages: 1_000).all }
  let lines = try await check(FormBound.ofLines, effort) { ProgressionForms(maxConcurrent: 32).all }
  return stages && lines
}

/// Prints bounds and what is reached, the median of three runs, and returns whether all are kept.
func check(_ bounds: [FormBound], _ effort: Effort, forms: () -> [Form]) async throws -> Bool {
  var ratios = bounds.map { _ in [Cost]() }
  for _ in 0..<3 {
    let measurement = try await Measurement(of: forms(), effort: effort)
    for (index, bound) in bounds.enumerated() {
      ratios[index].append(measurement[bound.form] / measurement[bound.reference])
    }
  }
  var isKept = true
  for (bound, ratios) in zip(bounds, ratios) {
    let median = median(of: ratios)
    if median.time > bound.limit { isKept = false }
    print(
      """
      \(median.time <= bound.limit ? "kept  " : "BROKEN") \(decimal(median.time)) of \(decimal(bound.limit)): \
      \(bound.form), against \(bound.reference) \
      (\(ratios.map { decimal($0.time) }.joined(separator: ", ")); of the processors' time \(decimal(median.work)))
      """
    )
  }
  return isKept
}

/// Prints what a stage costs in each form, and a progression in a line.
func printProgressionTables(effort: Effort) async throws {
  for (title, forms, count) in [
    ("1,000 stages", ProgressionForms(stages: 1_000).all, 1_000), ("lines", ProgressionForms(maxConcurrent: 32).all, 1),
  ] {
    let measurement = try await Measurement(of: forms, effort: effort)
    print("\n\(title)")
    for form in forms {
      let ratio = ratio(measurement[form.name].time / measurement[forms[0].name].time)
      print("\(form.name): \(duration(measurement[form.name].time / Double(count))), \(ratio) times \(forms[0].name)")
    }
  }
}
