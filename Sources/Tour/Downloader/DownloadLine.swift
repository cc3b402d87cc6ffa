// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseHTTP

/// The content of the line of one download.
struct DownloadLine: Sendable {
  private let name: String
  private var rate = TransferRate()
  private var received: Int64 = 0
  private var total: Int64?
  /// The text instead of a rate: that the download waits, or checks.
  private var remark: String?
  /// The outcome, once the download has ended.
  private var ending: String?
  /// The last tenth that was reported.
  private var tenth = -1

  init(name: String) {
    self.name = Console.oneLine(name)
  }

  /// Records news; returns a line to print where lines cannot be redrawn.
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

  /// Sets the outcome.
  mutating func end(_ words: String) -> String {
    ending = Console.oneLine(words)
    return text(width: nil)
  }

  /// Returns the line, cut to a number of columns, because a line longer than the terminal's width cannot be redrawn.
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
