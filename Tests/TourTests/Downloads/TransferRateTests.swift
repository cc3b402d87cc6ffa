// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseHTTP
import Testing

@testable import Tour

@Suite(.timeLimit(.minutes(5))) struct TransferRateTests {
  @Test func theRateIsThatOfTheLastSeconds() {
    var rate = TransferRate()
    #expect(rate.bytesPerSecond == nil)
    rate.note(0, at: .zero)
    #expect(rate.bytesPerSecond == nil && rate.timeLeft(of: 100) == nil)
    for second in 1...10 { rate.note(Int64(second) * 100, at: .seconds(second)) }
    #expect(rate.bytesPerSecond == 100)
    for second in 11...20 { rate.note(1_000 + Int64(second - 10) * 500, at: .seconds(second)) }
    #expect(rate.bytesPerSecond == 500)
    #expect(rate.timeLeft(of: 7_000) == .seconds(2))
    #expect(rate.timeLeft(of: nil) == nil)
  }

  @Test func whatWasThereBeforeIsNoSpeed() {
    var rate = TransferRate()
    rate.note(1_000_000, at: .zero)
    rate.note(1_000_100, at: .seconds(1))
    #expect(rate.bytesPerSecond == 100)
  }

  @Test func beginningAgainIsNoNegativeSpeed() {
    var rate = TransferRate()
    rate.note(500, at: .zero)
    rate.note(1_000, at: .seconds(1))
    rate.note(0, at: .seconds(2))
    #expect(rate.bytesPerSecond == nil)
    rate.note(300, at: .seconds(3))
    #expect(rate.bytesPerSecond == 300)
  }

  @Test func manySmallPiecesTakeNoMemory() {
    var rate = TransferRate()
    for piece in 0..<100_000 { rate.note(Int64(piece), at: .microseconds(piece)) }
    #expect(rate.bytesPerSecond.map { abs($0 - 1_000_000) < 20_000 } == true)
  }

  @Test(
    arguments: [
      (0, "0 B"), (999, "999 B"), (1_000, "1.0 KB"), (99_949, "99.9 KB"), (123_456, "123 KB"), (5_250_000, "5.3 MB"),
      (2e12, "2.0 TB"), (9e15, "9000 TB"),
    ]
  ) func amountsAreShort(count: Double, text: String) {
    #expect(TransferText.bytes(count) == text)
  }

  @Test(arguments: [(0, "0:00"), (65, "1:05"), (3_605, "1:00:05"), (-3, "0:00")]) func timesAreShort(
    s: Int,
    text: String
  ) {
    #expect(TransferText.time(.seconds(s)) == text)
  }
}
