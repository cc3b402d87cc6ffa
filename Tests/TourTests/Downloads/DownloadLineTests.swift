// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseHTTP
import Testing

@testable import Tour

@Suite(.timeLimit(.minutes(5))) struct DownloadLineTests {
  private func progress(_ received: Int64, of total: Int64?) -> DownloadNews {
    .progress(HTTPDownloadProgress(receivedBytes: received, totalBytes: total, resumedBytes: 0))
  }

  @Test func aLineSaysHowFarHowFastAndHowLong() {
    var line = DownloadLine(name: "a.bin")
    #expect(line.note(progress(0, of: 4_000), at: .zero) == "a.bin: 0% of 4.0 KB")
    #expect(line.note(progress(100, of: 4_000), at: .seconds(1)) == nil)
    #expect(line.note(progress(1_000, of: 4_000), at: .seconds(2)) == "a.bin: 25% of 4.0 KB, 500 B/s, 0:06 left")
    #expect(line.note(.waiting(because: "it is\nbusy"), at: .seconds(3)) == "a.bin: 25% of 4.0 KB, waits: it is busy")
    #expect(line.end("saved a.bin") == "a.bin: saved a.bin")
    #expect(line.note(progress(4_000, of: 4_000), at: .seconds(4)) == nil)
    #expect(line.text(width: nil) == "a.bin: saved a.bin")
  }

  @Test func withoutATotalThereIsNoPart() {
    var line = DownloadLine(name: "a")
    #expect(line.note(progress(0, of: nil), at: .zero) == nil)
    #expect(line.note(progress(2_000, of: nil), at: .seconds(1)) == nil)
    #expect(line.text(width: nil) == "a: 2.0 KB, 2.0 KB/s")
  }

  @Test func aLongLineIsCut() {
    let line = DownloadLine(name: String(repeating: "x", count: 100))
    #expect(line.text(width: 40).count == 40)
    #expect(DownloadLine(name: "a\u{1B}[2Jb\u{9B}c").text(width: nil) == "a[2Jbc: 0 B")
  }
}
