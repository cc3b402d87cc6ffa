// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A text of 60,000 lines, always the same.
enum SampleText {
  static let lineCount = 60_000

  private static let words = """
    a after again all always and any are as at back be before begin behind below better between book both bring build \
    but by call can card chain change child city clear close cold come count cross day deep door down draw each early \
    earth east end even every eye face fall far field file find fire first flow follow for friend from garden give \
    go gold good grain great green hand hard have head hear high hill hold home hour house in into island job join just \
    keep key kind know land large last late learn leave left letter life light like line little long look low make many
    """.split(separator: " ")

  static var bytes: [UInt8] {
    var bytes: [UInt8] = []
    // Numerical Recipes' quick generator, `1664525 x + 1013904223`: what matters is that it never changes.
    var state: UInt32 = 2026
    for _ in 0..<lineCount {
      for column in 1...9 {
        state = state &* 1_664_525 &+ 1_013_904_223
        bytes += Array(words[Int(state >> 16) % words.count].utf8)
        bytes.append(UInt8(ascii: column < 9 ? " " : "\n"))
      }
    }
    return bytes
  }
}
