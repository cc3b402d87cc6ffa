// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How long and how often to measure.
struct Effort: Sendable {
  /// Roughly how long one sample of one form takes.
  let sample: Duration
  /// How many samples of each form are taken.
  let samples: Int

  static let full = Effort(sample: .milliseconds(2), samples: 101)
  static let smoke = Effort(sample: .microseconds(50), samples: 3)
}

/// Medians of forms that took turns, so that whatever else the machine did slowed all of them alike.
struct Measurement: Sendable {
  private var medians: [String: Cost] = [:]

  init(of forms: [Form], effort: Effort) async throws {
    var repetitions: [Int] = []
    for form in forms { repetitions.append(try await Self.repetitions(of: form, in: effort.sample)) }
    var samples = forms.map { _ in [Cost]() }
    for round in 0..<effort.samples {
      for turn in forms.indices {
        // Another one begins each round, so that no sample is always the first.
        let index = (turn + round) % forms.count
        samples[index].append(try await forms[index].cost(repetitions[index]))
      }
    }
    for (form, costs) in zip(forms, samples) { medians[form.name] = median(of: costs) }
  }

  subscript(name: String) -> Cost { medians[name] ?? Cost(time: .nan, work: .nan) }

  /// How many repetitions take so long; finding out also warms up.
  private static func repetitions(of form: Form, in duration: Duration) async throws -> Int {
    var times = 1
    while true {
      let once = try await form.cost(times).time
      let wanted = duration / .nanoseconds(1) / once
      if wanted < Double(4 * times) { return max(1, Int(wanted)) }
      times *= 2
    }
  }
}
