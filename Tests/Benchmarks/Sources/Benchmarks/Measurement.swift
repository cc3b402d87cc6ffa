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
  private var medians: [String: Double] = [:]

  init(of forms: [Form], effort: Effort) async throws {
    var repetitions: [Int] = []
    for form in forms { repetitions.append(try await Self.repetitions(of: form, in: effort.sample)) }
    var samples = forms.map { _ in [Double]() }
    for round in 0..<effort.samples {
      for turn in forms.indices {
        // Another one begins each round, so that no sample is always the first.
        let index = (turn + round) % forms.count
        samples[index].append(try await forms[index].time(repetitions[index]))
      }
    }
    for (form, times) in zip(forms, samples) { medians[form.name] = median(of: times) }
  }

  /// Nanoseconds for one repetition of a form.
  subscript(name: String) -> Double { medians[name] ?? .nan }

  /// How many repetitions take so long; finding out also warms up.
  private static func repetitions(of form: Form, in duration: Duration) async throws -> Int {
    var times = 1
    while true {
      let once = try await form.time(times)
      let wanted = duration / .nanoseconds(1) / once
      if wanted < Double(4 * times) { return max(1, Int(wanted)) }
      times *= 2
    }
  }
}

func median(of values: [Double]) -> Double {
  let sorted = values.sorted()
  let middle = sorted.count / 2
  return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
}
