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

  /// Nanoseconds for one of so many repetitions.
  func time(_ times: Int) async throws -> Double {
    let start = ContinuousClock.now
    try await work(times)
    return start.duration(to: .now) / .nanoseconds(times)
  }
}
