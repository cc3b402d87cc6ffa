// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// Reads a form piece by piece, in flat memory.
actor MultipartSource {
  enum Piece: Sendable {
    case bytes(Data)
    /// A file, with its length when the form was created; nil when it could not be read.
    case file(URL, length: Int64?)
  }

  /// Not smaller, because each piece is a round trip between the transport's thread and a task.
  private static let pieceSize: Int64 = 1024 * 1024

  private var pieces: ArraySlice<Piece>
  private var current: (file: FileHandle, left: Int64)?

  init(_ pieces: [Piece]) { self.pieces = pieces[...] }

  func next() throws -> Data? {
    while true {
      if let (file, left) = current {
        if left > 0, let data = try file.read(upToCount: Int(min(left, Self.pieceSize))), !data.isEmpty {
          current = (file, left - Int64(data.count))
          return data
        }
        current = nil
        try file.close()
        // Otherwise the server would read the rest of the form as part of the file.
        guard left == 0 else { throw HTTPError.refused(reason: "a file of the form became shorter while it was sent") }
      }
      switch pieces.popFirst() {
      case nil: return nil
      case .bytes(let data): if !data.isEmpty { return data }
      case .file(let url, let length): current = (try FileHandle(forReadingFrom: url), length ?? 0)
      }
    }
  }

  /// Returns the length of all pieces; nil when a file could not be read, which is reported when the form is sent.
  static func length(of pieces: [Piece]) -> Int64? {
    var sum: Int64 = 0
    for piece in pieces {
      switch piece {
      case .bytes(let data): sum += Int64(data.count)
      case .file(_, let length):
        guard let length else { return nil }
        sum += length
      }
    }
    return sum
  }

  static func length(of file: URL) -> Int64? {
    ((try? FileManager.default.attributesOfItem(atPath: file.resolvingSymlinksInPath().path))?[.size] as? NSNumber)?
      .int64Value
  }
}
