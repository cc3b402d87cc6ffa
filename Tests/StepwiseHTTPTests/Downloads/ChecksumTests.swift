// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import Testing

@testable import StepwiseHTTP

/// SHA-256 as the system computes it, and of files that grow.
@Suite(.timeLimit(.minutes(5))) struct ChecksumTests {
  @Test func theSystemsHashIsThatOfTheDefinition() {
    var random = Xorshift(seed: 3)
    for length in [0, 1, 55, 56, 64, 1_000, 100_000] {
      let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
      var hash = SystemSHA256()
      var rest = bytes[...]
      while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 1...5_000, using: &random))
        piece.withUnsafeBytes { hash.update($0) }
        rest = rest.dropFirst(piece.count)
      }
      #expect(hash.hex() == checksum(bytes), "\(length)")
    }
  }

  #if os(Linux)
    /// Without it a debug build takes minutes for what takes seconds.
    @Test func theSystemHasAnImplementation() {
      let isThere = LibcryptoSHA256() != nil
      #expect(isThere)
    }
  #endif

  @Test func aFileIsReadAsItGrows() async throws {
    try await inFolder { folder in
      let path = folder.appendingPathComponent("file").path
      let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      try Data(bytes).write(to: URL(filePath: path))
      let sum = FileChecksum(of: path)
      for position in stride(from: 0, to: bytes.count, by: 9_999) { sum.advance(to: Int64(position)) }
      #expect(try await sum.value(at: 1_000_000) == checksum(bytes))
      let empty = FileChecksum(of: path)
      #expect(try await empty.value(at: 0) == checksum([]))
      let short = FileChecksum(of: path)
      await #expect(throws: HTTPError.self) { try await short.value(at: 1_000_001) }
      let missing = FileChecksum(of: path + "x")
      await #expect(throws: HTTPError.self) { try await missing.value(at: 1) }
    }
  }
}
