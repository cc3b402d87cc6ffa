// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseFiles

/// The file to which a download is written until it is complete, locked while it is open.
struct PartialFile: ~Copyable {
  let file: String
  private let content: OpenFile

  /// The path of the file.
  var path: String { location.path }

  private var location: FileLocation { content.location }
  private var tagLocation: FileLocation { FileLocation(path + ".tag") }

  /// Opens the file of an earlier attempt, or an empty one.
  ///
  /// - Throws: ``HTTPError/refused(reason:)`` when another download writes it, in this process or another.
  init(_ file: String) throws(HTTPError) {
    self.file = file
    // Otherwise the error would only occur at the end of the download.
    if FileLocation(file).isDirectory { throw HTTPError(FileFailure("open", file, EISDIR)) }
    content = try Self.openLocked(FileLocation(file + ".part"))
  }

  /// Closing would not be enough while a child process that is just starting shares the descriptor.
  deinit { content.unlock() }

  private static func openLocked(_ location: FileLocation) throws(HTTPError) -> OpenFile {
    let content = try HTTPError.naming { () throws(FileFailure) -> OpenFile? in
      while true {
        let content = try location.open(O_RDWR | O_CREAT)
        guard try content.lock() else { return nil }
        // The previous owner may have finished between the two calls; then the lock is on the finished file.
        let (locked, named) = (try content.status(), try location.status())
        if locked.st_ino == named?.st_ino, locked.st_dev == named?.st_dev { return content }
      }
    }
    guard let content else { throw .refused(reason: "another download writes to this file") }
    return content
  }

  var size: Int64 { (try? content.status()).map { Int64($0.st_size) } ?? 0 }

  /// Writes all of the bytes at a position; bytes written before an error stay.
  func write(_ data: Data, at offset: Int64) throws(HTTPError) {
    try HTTPError.naming { () throws(FileFailure) in try content.write(data, at: Int(offset)) }
  }

  /// Discards the existing bytes, and writes the tag for the following ones.
  ///
  /// A process that is killed meanwhile leaves no tag, or an incomplete one; then the whole file is downloaded again.
  func restart(_ tag: DownloadTag?) throws(HTTPError) {
    _ = try? tagLocation.unlink()
    try HTTPError.naming { () throws(FileFailure) in
      try content.truncate(to: 0)
      if let tag { try tagLocation.open(O_WRONLY | O_CREAT | O_EXCL).write(tag.text.utf8) }
    }
  }

  /// Reads bytes at a position, at most so many.
  func read(_ count: Int, at offset: Int64) throws(HTTPError) -> Data {
    try HTTPError.naming { () throws(FileFailure) in
      try content.seek(to: Int(offset))
      return Data(try content.read(count))
    }
  }

  /// Removes the file, whose bytes are useless.
  consuming func remove() {
    _ = try? tagLocation.unlink()
    _ = try? location.unlink()
  }

  /// Removes a file without bytes, from which nothing can be resumed.
  func removeIfEmpty() {
    guard size == 0 else { return }
    _ = try? tagLocation.unlink()
    _ = try? location.unlink()
  }

  /// The tag of the file of an earlier attempt.
  func tag(for url: URL) -> DownloadTag? {
    guard let data = try? Data(contentsOf: URL(filePath: tagLocation.path)) else { return nil }
    return DownloadTag(text: String(decoding: data, as: UTF8.self), for: url)
  }

  /// Renames the complete file to its destination.
  func finish() throws(HTTPError) {
    try HTTPError.naming { () throws(FileFailure) in try location.rename(to: FileLocation(file)) }
    _ = try? tagLocation.unlink()
  }
}
