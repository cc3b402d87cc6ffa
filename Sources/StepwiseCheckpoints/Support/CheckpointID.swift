// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The bytes of an id, by which ids are told apart.
struct CheckpointID: Hashable, Sendable {
  static let longest = 200

  let bytes: [UInt8]

  init(_ id: String) throws(CheckpointError) {
    bytes = Array(id.utf8)
    guard !bytes.isEmpty else { throw .invalidID(id: id, reason: "it is empty") }
    guard bytes.count <= Self.longest else {
      throw .invalidID(id: id, reason: "it has \(bytes.count) bytes of UTF-8, and \(Self.longest) is the most")
    }
  }
}
