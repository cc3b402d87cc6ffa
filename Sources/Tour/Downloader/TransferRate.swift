// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The rate of a transfer over the last seconds.
struct TransferRate: Sendable {
  private static let window = Duration.seconds(5)

  private var samples: [(at: Duration, bytes: Int64)] = []

  /// Records the number of bytes at a time since the start.
  mutating func note(_ bytes: Int64, at time: Duration) {
    // A download that starts over has fewer bytes than before.
    if let last = samples.last, bytes < last.bytes { samples = [] }
    if samples.count > 1, let last = samples.last, time - last.at < .milliseconds(100) { samples.removeLast() }
    samples.append((time, bytes))
    while samples.count > 2, time - samples[1].at >= Self.window { samples.removeFirst() }
  }

  /// The bytes per second; nil while that is unknown.
  var bytesPerSecond: Double? {
    guard let first = samples.first, let last = samples.last, last.at > first.at else { return nil }
    return Double(last.bytes - first.bytes) / ((last.at - first.at) / .seconds(1))
  }

  /// Returns how long the rest takes at this rate; nil while that is unknown.
  func timeLeft(of total: Int64?) -> Duration? {
    guard let total, let bytes = samples.last?.bytes, let rate = bytesPerSecond, rate > 0 else { return nil }
    return .seconds(Double(max(0, total - bytes)) / rate)
  }
}

/// Numbers as a progress line shows them.
enum TransferText {
  /// A number of bytes, in three digits or so.
  static func bytes(_ count: Double) -> String {
    var (rest, unit) = (count, 0)
    let units = ["B", "KB", "MB", "GB", "TB"]
    while rest >= 1_000, unit < units.count - 1 { (rest, unit) = (rest / 1_000, unit + 1) }
    let tenths = Int((rest * 10).rounded())
    return unit == 0 || tenths >= 1_000
      ? "\(tenths / 10) \(units[unit])" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }

  /// A time such as 1:05 or 1:00:05.
  static func time(_ duration: Duration) -> String {
    let seconds = max(0, duration.components.seconds)
    func padded(_ number: Int64) -> String { (number < 10 ? "0" : "") + String(number) }
    let tail = padded(seconds % 60)
    guard seconds >= 3_600 else { return "\(seconds / 60):\(tail)" }
    return "\(seconds / 3_600):\(padded(seconds / 60 % 60)):\(tail)"
  }
}
