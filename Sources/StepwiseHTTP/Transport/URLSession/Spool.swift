// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// Writes the pieces of a body to a file, in constant memory.
enum Spool {
  /// Requests the pieces of the body to its end, or until the transfer has ended.
  ///
  /// - Throws: What the source throws; ``HTTPError`` when the length is another, or the file cannot be written.
  nonisolated(nonsending) static func write(
    _ open: @Sendable () throws -> HTTPTransferBody.Source,
    length: Int64?,
    to file: URL,
    until isOver: () -> Bool
  ) async throws {
    let source = try open()
    guard FileManager.default.createFile(atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else {
      throw CocoaError(.fileWriteUnknown)
    }
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    var count: Int64 = 0
    while !isOver(), let piece = try await source() {
      try handle.write(contentsOf: piece)
      count += Int64(piece.count)
    }
    guard let length, !isOver() else { return }
    guard length <= count else { throw HTTPError.refused(reason: "the body is shorter than announced") }
    try handle.truncate(atOffset: UInt64(length))
  }
}
