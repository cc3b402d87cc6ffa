// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How many times as long as another form a form may take.
struct Bound: Sendable {
  let steps: Int
  let form: String
  let reference: String
  let limit: Double

  static let all = [
    Bound(steps: 100, form: Forms.run, reference: Forms.loop, limit: 1.4),
    Bound(steps: 3, form: Forms.run, reference: Forms.task, limit: 2.2),
    Bound(steps: 3, form: Forms.tokenTaken, reference: Forms.task, limit: 2.2),
    Bound(steps: 3, form: Forms.tokenTaken, reference: Forms.tokenByHand, limit: 2.2),
    Bound(steps: 3, form: Forms.tokenAround, reference: Forms.task, limit: 4.4),
    Bound(steps: 3, form: Forms.tokenAround, reference: Forms.tokenAroundByHand, limit: 2.4),
    Bound(steps: 3, form: Forms.start, reference: Forms.task, limit: 3.5),
    Bound(steps: 3, form: Forms.start, reference: Forms.startByHand, limit: 2),
    // What the same costs without a library.
    Bound(steps: 3, form: Forms.runByHand, reference: Forms.task, limit: 10),
    Bound(steps: 3, form: Forms.tokenByHand, reference: Forms.task, limit: 10),
    Bound(steps: 3, form: Forms.tokenAroundByHand, reference: Forms.task, limit: 10),
    Bound(steps: 3, form: Forms.startByHand, reference: Forms.task, limit: 10),
  ]
}

/// Prints the bounds and what is reached, the median of three runs, and returns whether all are kept.
func checkBounds(effort: Effort) async throws -> Bool {
  var isKept = true
  for bodies in Bodies.allCases {
    var ratios = Bound.all.map { _ in [Cost]() }
    for _ in 0..<3 {
      for (index, ratio) in try await measureBounds(bodies, effort: effort) { ratios[index].append(ratio) }
    }
    print("\nThresholds, \(bodies.rawValue) bodies")
    for (bound, ratios) in zip(Bound.all, ratios) {
      let median = median(of: ratios)
      if median.time > bound.limit { isKept = false }
      print(
        """
        \(median.time <= bound.limit ? "kept  " : "BROKEN") \(decimal(median.time)) of \(decimal(bound.limit)): \
        \(bound.form), \(bound.steps) steps, against \(bound.reference) \
        (\(ratios.map { decimal($0.time) }.joined(separator: ", ")); of the processors' time \(decimal(median.work)))
        """
      )
    }
  }
  return isKept
}

private func measureBounds(_ bodies: Bodies, effort: Effort) async throws -> [Int: Cost] {
  var ratios: [Int: Cost] = [:]
  for (steps, indices) in Dictionary(grouping: Bound.all.indices, by: { Bound.all[$0].steps }) {
    let names = Set(indices.flatMap { [Bound.all[$0].form, Bound.all[$0].reference] })
    let forms = Forms(bodies, steps: steps).all.filter { names.contains($0.name) }
    let measurement = try await Measurement(of: forms, effort: effort)
    for index in indices {
      ratios[index] = measurement[Bound.all[index].form] / measurement[Bound.all[index].reference]
    }
  }
  return ratios
}
