// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// A limit of the bytes a second that all downloads together receive.
final class RateLimit: Sendable {
  private let bytesPerSecond: Double
  /// When what was received so far has taken its time.
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

  /// Reads a rate such as `500`, `64k`, `1.5M`: bytes a second, with `k`, `M` and `G` for powers of 1,024.
  static func bytesPerSecond(_ text: String) -> Double? {
    let units: [Character: Double] = ["k": 1_024, "m": 1_048_576, "g": 1_073_741_824]
    let unit = text.lowercased().last.flatMap { units[$0] }
    let digits = unit == nil ? text : String(text.dropLast())
    guard let number = Double(digits), number > 0, number.isFinite else { return nil }
    return number * (unit ?? 1)
  }
}
