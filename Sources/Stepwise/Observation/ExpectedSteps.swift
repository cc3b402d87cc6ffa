// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The progress of a step by those inside it, of which its code has said how many it expects.
struct ExpectedSteps: Sendable {
  /// How many there are, once that is known.
  var count: Int?
  private var endedCount = 0
  /// What those that are running have reported, by their numbers in the record.
  private var running: [Int: Double] = [:]
  private var runningSum = 0.0
  private var reported = 0.0

  /// A step inside has reported its progress, which never goes back.
  mutating func report(_ step: Int, _ fraction: Double) {
    let old = running[step, default: 0]
    guard fraction > old else { return }
    running[step] = fraction
    runningSum += fraction - old
  }

  mutating func end(_ step: Int) {
    runningSum -= running.removeValue(forKey: step) ?? 0
    if running.isEmpty { runningSum = 0 }
    endedCount += 1
  }

  /// Returns the fraction if it has grown; more steps than expected do not move it back.
  mutating func next() -> Double? {
    guard let count else { return nil }
    let fraction = min(1, (Double(endedCount) + runningSum) / Double(max(1, count)))
    guard fraction > reported else { return nil }
    reported = fraction
    return fraction
  }
}
