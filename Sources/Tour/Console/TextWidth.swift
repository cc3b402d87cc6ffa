// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How many columns of a terminal a text takes.
enum TextWidth {
  /// The number of columns: two for characters of East Asian scripts and for pictures.
  static func of(_ text: String) -> Int { text.reduce(0) { $0 + width($1) } }

  /// The text, or as much of its beginning as fits, with an ellipsis.
  static func cut(_ text: String, to limit: Int) -> String {
    guard of(text) > limit else { return text }
    var (result, rest) = ("", limit - 1)
    for character in text {
      rest -= width(character)
      guard rest >= 0 else { break }
      result.append(character)
    }
    return limit > 0 ? result + "…" : ""
  }

  private static func width(_ character: Character) -> Int {
    guard let scalar = character.unicodeScalars.first else { return 0 }
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
      0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
      return 2
    default: return character.unicodeScalars.contains("\u{FE0F}") ? 2 : 1
    }
  }
}
