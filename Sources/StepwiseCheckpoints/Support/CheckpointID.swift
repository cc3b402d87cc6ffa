// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An id that can be stored.
///
/// Ids are compared by their bytes, not by Unicode equivalence.
package struct CheckpointID: Hashable, Comparable, Sendable {
  package static let longest = 200

  package let text: String
  package let bytes: [UInt8]

  package init(_ text: String) throws(CheckpointError) {
    self.text = text
    bytes = Array(text.utf8)
    guard !bytes.isEmpty else { throw .invalidID(id: text, reason: "it is empty") }
    guard bytes.count <= Self.longest else {
      throw .invalidID(id: text, reason: "it has \(bytes.count) bytes of UTF-8; the maximum is \(Self.longest)")
    }
  }

  package static func == (one: CheckpointID, other: CheckpointID) -> Bool { one.bytes == other.bytes }

  package static func < (one: CheckpointID, other: CheckpointID) -> Bool {
    one.bytes.lexicographicallyPrecedes(other.bytes)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
