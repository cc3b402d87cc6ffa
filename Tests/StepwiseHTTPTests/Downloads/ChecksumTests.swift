// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import Testing

@testable import StepwiseHTTP

/// SHA-256 as the system computes it, and of files that grow.
@Suite(.timeLimit(.minutes(5))) struct ChecksumTests {
  @Test func `The system's hash matches its definition`() {
    var random = Xorshift(seed: 3)
    for length in [0, 1, 55, 56, 64, 1_000, 100_000] {
      let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
      var hash = SystemSHA256()
      var rest = bytes[...]
      while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 1...5_000, using: &random))
        hash.update(Array(piece))
        rest = rest.dropFirst(piece.count)
      }
      #expect(hash.hex() == checksum(bytes), "\(length)")
    }
  }

  #if os(Linux)
    /// Without it a debug build takes minutes for what takes seconds.
    @Test func `The system has an implementation`() {
      #expect(SystemSHA256.isSystems)
    }
  #endif
}
