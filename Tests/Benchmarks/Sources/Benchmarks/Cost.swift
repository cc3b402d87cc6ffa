// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// What one repetition of a form takes, in nanoseconds.
struct Cost: Sendable {
  /// Of the clock on the wall.
  var time: Double
  /// Of all processors: it does not count the waiting for one, which on a busy machine is most of the noise.
  var work: Double

  static func / (cost: Cost, reference: Cost) -> Cost {
    Cost(time: cost.time / reference.time, work: cost.work / reference.work)
  }
}

func median(of costs: [Cost]) -> Cost {
  Cost(time: median(of: costs.map(\.time)), work: median(of: costs.map(\.work)))
}

func median(of values: [Double]) -> Double {
  let sorted = values.sorted()
  let middle = sorted.count / 2
  return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
}

/// How long the processors have worked for this process.
func workSoFar() -> Duration {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
