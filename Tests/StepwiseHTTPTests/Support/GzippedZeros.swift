// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Returns zeros in the format of gzip, without the end: 258 for each run, each of which takes 13 bits.
///
/// One block of RFC 1951 with fixed codes: a literal zero, then repetitions of the previous byte. Eight runs are a whole
/// number of bytes.
func gzippedZeros(runs: Int) -> [UInt8] {
  // The last of the first 11 bits begin a byte that the first run continues.
  let start = [1, 1, 0] + [0, 0, 1, 1, 0, 0, 0, 0]
  let run = [1, 1, 0, 0, 0, 1, 0, 1] + [0, 0, 0, 0, 0]
  let bits = start + (0..<16).flatMap { _ in run }
  func bytes(from first: Int, count: Int) -> [UInt8] {
    (first..<first + count).map { index in
      (0..<8).reduce(UInt8(0)) { $0 | UInt8(bits[index * 8 + $1]) << UInt8($1) }
    }
  }
  // After two bytes the pattern repeats every 13.
  let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255] + bytes(from: 0, count: 2)
  let period = bytes(from: 2, count: 13)
  return header + (0..<runs / 8).flatMap { _ in period }
}
