// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The file to which a download is written until it is complete, locked while it is open.
struct PartialFile: ~Copyable {
  let file: String
  private let descriptor: Int32
  /// The tag, once a piece has been marked in it; negative before.
  private var tagDescriptor: Int32 = -1

  /// The path of the file.
  var path: String { Self.path(file) }

  private static func path(_ file: String) -> String { file + ".part" }

  /// Opens the file of an earlier attempt, or an empty one.
  ///
  /// - Throws: ``HTTPError/refused(reason:)`` when another download writes it, in this process or another.
  init(_ file: String) throws(HTTPError) {
    self.file = file
    var target = stat()
    // Otherwise the error would only occur at the end of the download.
    if stat(file, &target) == 0, target.st_mode & S_IFMT == S_IFDIR { throw Self.failure(EISDIR) }
    descriptor = try Self.openLocked(file)
  }

  private static func openLocked(_ file: String) throws(HTTPError) -> Int32 {
    while true {
      let descriptor = open(path(file), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o666)
      guard descriptor >= 0 else { throw failure() }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        let error = errno == EWOULDBLOCK ? busy : failure()
        _ = close(descriptor)
        throw error
      }
      // The previous owner of the lock may have finished between the two calls; then the lock is on the finished file.
      var (locked, named) = (stat(), stat())
      if fstat(descriptor, &locked) == 0, stat(path(file), &named) == 0, locked.st_ino == named.st_ino,
        locked.st_dev == named.st_dev
      {
        return descriptor
      }
      _ = close(descriptor)
    }
  }

  deinit {
    if tagDescriptor >= 0 { _ = close(tagDescriptor) }
    _ = close(descriptor)
  }

  private static var busy: HTTPError { .refused(reason: "another download writes to this file") }

  var size: Int64 {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
  }

  /// Writes all of the bytes at a position; bytes written before an error stay.
  func write(_ data: Data, at offset: Int64) throws(HTTPError) { try Self.write(data, to: descriptor, at: offset) }

  private static func write(_ data: Data, to descriptor: Int32, at offset: Int64) throws(HTTPError) {
    var code: Int32 = 0
    data.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
        let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
        if count > 0 {
          done += count
        } else if count == 0 || errno != EINTR {
          code = count == 0 ? EIO : errno
          return
        }
      }
    }
    if code != 0 { throw failure(code) }
  }

  /// Discards the existing bytes, and writes the tag for the following ones.
  mutating func restart(_ tag: DownloadTag?) throws(HTTPError) {
    removeTag()
    guard ftruncate(descriptor, 0) == 0 else { throw Self.failure() }
    if let tag { try replaceTag(tag) }
  }

  /// Replaces the tag, and leaves the bytes unchanged.
  ///
  /// A process that is killed meanwhile leaves no tag, or an incomplete one; then the whole file is downloaded again.
  mutating func replaceTag(_ tag: DownloadTag) throws(HTTPError) {
    removeTag()
    tagDescriptor = open(tagPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard tagDescriptor >= 0 else { throw Self.failure() }
    try Self.write(Data(tag.text.utf8), to: tagDescriptor, at: 0)
  }

  /// Overwrites the line of a piece in the tag, after its bytes were written.
  mutating func mark(_ piece: Int, in tag: DownloadTag) throws(HTTPError) {
    guard let layout = tag.layout else { return }
    if tagDescriptor < 0 { tagDescriptor = open(tagPath, O_WRONLY | O_CLOEXEC | O_NOFOLLOW) }
    guard tagDescriptor >= 0 else { throw Self.failure() }
    let line = Data(DownloadLayout.line(layout.pieces[piece]).utf8)
    try Self.write(line, to: tagDescriptor, at: tag.offset(ofPiece: piece))
  }

  private mutating func removeTag() {
    if tagDescriptor >= 0 { _ = close(tagDescriptor) }
    tagDescriptor = -1
    _ = unlink(tagPath)
  }

  /// Removes the file, whose bytes are useless.
  consuming func remove() {
    _ = unlink(tagPath)
    _ = unlink(path)
  }

  /// Removes a file without bytes, from which nothing can be resumed.
  func removeIfEmpty() {
    guard size == 0 else { return }
    _ = unlink(tagPath)
    _ = unlink(path)
  }

  /// The tag of the file of an earlier attempt.
  func tag(for url: URL) -> DownloadTag? {
    guard let data = try? Data(contentsOf: URL(filePath: tagPath)) else { return nil }
    return DownloadTag(text: String(decoding: data, as: UTF8.self), for: url)
  }

  /// Renames the complete file to its destination.
  func finish() throws(HTTPError) {
    guard rename(path, file) == 0 else { throw Self.failure() }
    _ = unlink(tagPath)
  }

  private var tagPath: String { path + ".tag" }

  private static func failure(_ code: Int32 = errno) -> HTTPError {
    .request(underlying: POSIXError(POSIXError.Code(rawValue: code) ?? .EIO))
  }
}
