// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

/// The name of the file of an id.
///
/// Lowercase letters, digits, `-` and `_` represent themselves. Each other byte of the UTF-8 is written as `%` and two
/// lowercase hexadecimal digits. No two ids share a name, even on file systems that ignore case, and no name leaves the
/// directory. A name that is too long is cut and followed by `~` and the SHA-256 of the id; the file contains the whole
/// id.
struct CheckpointName: Hashable, Sendable {
  static let suffix = ".checkpoint"
  /// The maximum length of a name without suffix: file systems allow 255 bytes with one.
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

  /// The file of the last stage.
  var checkpoint: String { stem + Self.suffix }

  /// The file to which a stage is written before it replaces the last one.
  var temporary: String { stem + ".temporary" }

  /// The file that is locked while a run holds the id.
  var lock: String { stem + ".lock" }

  /// What a file name says about the id.
  enum Meaning: Equatable {
    /// It is the file of this id.
    case id(CheckpointID)
    /// The file contains the id.
    case inside
    /// It is not the file of an id.
    case stranger
  }

  /// Returns the meaning of a file name in the directory.
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
