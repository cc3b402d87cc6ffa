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
    var name: [UInt8] = []
    name.reserveCapacity(id.bytes.count)
    // Where the name is cut if it is too long: before the first byte that does not leave room for the hash.
    var cut = 0
    for byte in id.bytes {
      if Self.representsItself(byte) {
        name.append(byte)
      } else {
        name += [UInt8(ascii: "%"), Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]]
      }
      if name.count <= Self.longest - 65 { cut = name.count }
    }
    if name.count > Self.longest {
      stem = String(decoding: name[..<cut], as: UTF8.self) + "~" + SHA256.hex(id.bytes)
    } else {
      stem = String(decoding: name, as: UTF8.self)
    }
  }

  private static let digits = Array("0123456789abcdef".utf8)

  private static func representsItself(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
      UInt8(ascii: "_"):
      true
    default:
      false
    }
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
    var rest = Array(file.utf8.dropLast(suffix.utf8.count))[...]
    guard rest.count <= longest else { return .stranger }
    if rest.contains(UInt8(ascii: "~")) { return .inside }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(rest.count)
    while let byte = rest.popFirst() {
      if representsItself(byte) {
        bytes.append(byte)
        continue
      }
      // Only the spelling that a store writes is the file of an id.
      guard byte == UInt8(ascii: "%"), let high = rest.popFirst().flatMap(digits.firstIndex),
        let low = rest.popFirst().flatMap(digits.firstIndex), !representsItself(UInt8(high << 4 | low))
      else { return .stranger }
      bytes.append(UInt8(high << 4 | low))
    }
    guard let text = String(validating: bytes, as: UTF8.self), let id = try? CheckpointID(text) else {
      return .stranger
    }
    return .id(id)
  }
}
