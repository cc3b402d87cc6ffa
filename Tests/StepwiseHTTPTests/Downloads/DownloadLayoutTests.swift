// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import StepwiseHTTP

/// Which bytes of a file are there, and which worker gets which.
@Suite(.timeLimit(.minutes(5))) struct DownloadLayoutTests {
  @Test func segmentsCoverTheFileInOrder() {
    var random = Xorshift(seed: 7)
    for _ in 0..<1_000 {
      let total = Int64.random(in: 2...10_000, using: &random)
      let prefix = Int64.random(in: 0..<total, using: &random)
      let segments = Int.random(in: 1...9, using: &random)
      let layout = DownloadLayout(prefix: prefix, total: total, segments: segments)
      var end: Int64 = 0
      for piece in layout.pieces {
        #expect(piece.start == end && (piece.end ?? 0) > end)
        end = piece.end ?? 0
      }
      #expect(end == total && layout.received == prefix && layout.prefix == prefix && !layout.isComplete)
      #expect(layout.pieces.count <= segments + 1)
    }
  }

  @Test func thePrefixGrowsOverCompletePieces() {
    var layout = DownloadLayout(prefix: 0, total: 40, segments: 4)
    layout.wrote(10, to: 1)
    #expect(layout.prefix == 0 && layout.received == 10)
    layout.wrote(4, to: 0)
    #expect(layout.prefix == 4)
    layout.wrote(6, to: 0)
    #expect(layout.prefix == 20 && layout.piece(at: 20) == 2 && layout.piece(at: 5) == nil)
    layout.wrote(10, to: 2)
    layout.wrote(10, to: 3)
    #expect(layout.prefix == 40 && layout.isComplete)
    #expect(DownloadLayout(prefix: 5, total: nil).prefix == 5 && !DownloadLayout(prefix: 5, total: nil).isComplete)
  }

  @Test(arguments: [
    "0 10 0", "0 10 11", "0 10 -1", "5 10 0", "10 0 0", "0 a 0", "0 10", "0 5 0\n6 10 0", "0 5 0\n5 9 0",
  ])
  func linesThatDoNotCoverTheFileAreRefused(text: String) {
    #expect(DownloadLayout(lines: text.split(separator: "\n"), total: 10) == nil)
  }

  /// Workers that take, finish, requeue and are refused, in random orders.
  @Test func everyPieceIsDownloadedOnceWhateverIsRefused() {
    for seed in 0..<2_000 as Range<UInt64> {
      var random = Xorshift(seed: seed)
      let count = Int.random(in: 1...8, using: &random)
      var queue = SegmentQueue(pending: Array(1..<count), workers: min(4, count))
      var workers: [Int?] = [0] + Array(repeating: nil, count: min(4, count) - 1)
      var (done, gaveUp) = (Set<Int>(), false)
      while !workers.isEmpty, !gaveUp {
        let worker = Int.random(in: 0..<workers.count, using: &random)
        guard let piece = workers[worker] else {
          guard let next = queue.take() else {
            workers.remove(at: worker)
            continue
          }
          workers[worker] = next
          continue
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
          if queue.refuse(piece) { workers.remove(at: worker) } else { gaveUp = true }
        case 1:
          queue.requeue(piece)
          workers[worker] = nil
        case 2 where queue.claim(piece + 1):
          #expect(done.insert(piece).inserted)
          workers[worker] = piece + 1
        default:
          #expect(done.insert(piece).inserted)
          workers[worker] = nil
        }
      }
      // Only the last worker may give up; else all is done.
      #expect(gaveUp ? workers.count == 1 : done.count == count, "seed \(seed)")
    }
  }
}
