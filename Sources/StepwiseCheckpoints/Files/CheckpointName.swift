// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The name of the file that keeps an id.
///
/// Lowercase letters, digits, `-` and `_` stand for themselves, each other byte of the UTF-8 as `%` and two lowercase
/// hexadecimal digits: no two ids share a name, on file systems that ignore case as well, and none leaves the directory.
/// What would be too long for a file name is cut, and `~` and the SHA-256 of the id follow; its file says the whole id.
struct CheckpointName: Hashable, Sendable {
  static let suffix = ".checkpoint"
  /// The most bytes of the name without a suffix: file systems take 255 with one.
  private static let longest = 220

  /// The name without a suffix.
  let stem: String

  init(_ id: CheckpointID) {
    let escaped = id.bytes.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
        UInt8(ascii: "_"):
        String(UnicodeScalar(byte))
      default:
        "%" + SHA256.hexadecimal(byte)
      }
    }
    let whole = escaped.joined()
    guard whole.utf8.count > Self.longest else {
      stem = whole
      return
    }
    var start = ""
    for part in escaped where start.utf8.count + part.utf8.count <= Self.longest - 65 { start += part }
    stem = start + "~" + SHA256.hex(id.bytes)
  }

  /// The file that keeps the last stage.
  var checkpoint: String { stem + Self.suffix }

  /// The file in which a stage is written before it takes the other's place.
  var temporary: String { stem + ".temporary" }

  /// The file that is locked while somebody runs under the id.
  var lock: String { stem + ".lock" }

  /// What a file's name says of the id.
  enum Meaning: Equatable {
    /// It keeps this id.
    case id(CheckpointID)
    /// It keeps an id that stands in the file.
    case inside
    /// It keeps no id.
    case stranger
  }

  /// What the name of a file in the directory says.
  static func meaning(of file: String) -> Meaning {
    guard file.hasSuffix(suffix) else { return .stranger }
    let stem = file.dropLast(suffix.count)
    if stem.contains("~") { return .inside }
    var bytes: [UInt8] = []
    var rest = Array(stem.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else { return .stranger }
      bytes.append(decoded)
      rest = rest.dropFirst(2)
    }
    guard let text = String(validating: bytes, as: UTF8.self), let id = try? CheckpointID(text),
      CheckpointName(id).checkpoint == file
    else { return .stranger }
    return .id(id)
  }
}
