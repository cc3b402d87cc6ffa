// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseHTTP

/// What one line says of a download.
struct DownloadLine: Sendable {
  private let name: String
  private var rate = TransferRate()
  private var received: Int64 = 0
  private var total: Int64?
  /// What is said instead of a rate: that it waits, or checks.
  private var remark: String?
  /// What it has come to, once it has ended.
  private var ending: String?
  /// The last tenth that was told.
  private var tenth = -1

  init(name: String) {
    self.name = Console.oneLine(name)
  }

  /// Notes what has happened; returns a line when there is something to tell where lines cannot be drawn again.
  mutating func note(_ news: DownloadNews, at time: Duration) -> String? {
    guard ending == nil else { return nil }
    switch news {
    case .progress(let progress):
      remark = nil
      received = progress.receivedBytes
      total = progress.totalBytes
      rate.note(received, at: time)
      guard let percent, percent / 10 != tenth else { return nil }
      tenth = percent / 10
      return text(width: nil)
    case .waiting(let reason):
      remark = "waits: \(Console.oneLine(reason))"
    }
    return text(width: nil)
  }

  /// Says how it has ended.
  mutating func end(_ words: String) -> String {
    ending = Console.oneLine(words)
    return text(width: nil)
  }

  /// The line, cut to a number of columns: a longer one than the terminal is wide cannot be redrawn.
  func text(width: Int?) -> String {
    let line = "\(name): \(ending ?? state)"
    return width.map { TextWidth.cut(line, to: $0) } ?? line
  }

  private var percent: Int? {
    guard let total, total > 0 else { return nil }
    return Int(100 * min(received, total) / total)
  }

  private var state: String {
    let part = percent.map { "\($0)% of \(TransferText.bytes(Double(total ?? 0)))" }
    let amount = part ?? TransferText.bytes(Double(received))
    if let remark { return "\(amount), \(remark)" }
    let speed = rate.bytesPerSecond.map { ", \(TransferText.bytes($0))/s" } ?? ""
    let left = rate.timeLeft(of: total).map { ", \(TransferText.time($0)) left" } ?? ""
    return amount + speed + left
  }
}
