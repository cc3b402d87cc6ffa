// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// A limit for the bytes per second of all downloads together.
final class RateLimit: Sendable {
  private let bytesPerSecond: Double
  /// When the bytes received so far have taken their time.
  private let due = Lock<ContinuousClock.Instant?>(nil)

  init(bytesPerSecond: Double) { self.bytesPerSecond = bytesPerSecond }

  /// Returns how long a download that received some bytes has to wait before it receives more.
  func pause(after bytes: Int64, at now: ContinuousClock.Instant = .now) -> Duration {
    due.withLock { due in
      let next = max(due ?? now, now).advanced(by: .seconds(Double(max(0, bytes)) / bytesPerSecond))
      due = next
      return now.duration(to: next)
    }
  }

  /// Parses a rate such as `500`, `64k`, `1.5M`: bytes per second, with `k`, `M` and `G` for powers of 1,024.
  static func bytesPerSecond(_ text: String) -> Double? {
    let units: [Character: Double] = ["k": 1_024, "m": 1_048_576, "g": 1_073_741_824]
    let unit = text.lowercased().last.flatMap { units[$0] }
    let digits = unit == nil ? text : String(text.dropLast())
    guard let number = Double(digits), number > 0, number.isFinite else { return nil }
    return number * (unit ?? 1)
  }
}
