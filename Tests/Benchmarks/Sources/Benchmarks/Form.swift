// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One form of the work that is compared, repeated in a loop of its own, so that nothing else is measured with it.
struct Form: Sendable {
  let name: String
  let work: @Sendable (_ times: Int) async throws -> Void

  init(_ name: String, work: @escaping @Sendable (_ times: Int) async throws -> Void) {
    self.name = name
    self.work = work
  }

  /// Measures so many repetitions.
  func cost(_ times: Int) async throws -> Cost {
    let workBefore = workSoFar()
    let start = ContinuousClock.now
    try await work(times)
    let time = start.duration(to: .now)
    return Cost(time: time / .nanoseconds(times), work: (workSoFar() - workBefore) / .nanoseconds(times))
  }
}
