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

/// The file that a download is written to until it is whole, locked as long as it is open.
struct PartialFile: ~Copyable {
  let file: String
  private let descriptor: Int32
  /// The tag, once a piece was marked in it; negative before.
  private var tagDescriptor: Int32 = -1

  /// The file that is written to.
  var path: String { Self.path(file) }

  private static func path(_ file: String) -> String { file + ".part" }

  /// Opens what an earlier attempt left, or something empty.
  ///
  /// - Throws: ``HTTPError/refused(reason:)`` when somebody else writes it, in this process or another.
  init(_ file: String) throws(HTTPError) {
    self.file = file
    var target = stat()
    // Otherwise this would show when all of it is there.
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
      // Whoever had the lock may have finished between the two calls: then the lock is on the finished file.
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

  /// Writes all of the bytes at a position; those that were written before an error stay.
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

  /// Discards what is there, and writes the tag of what is to come.
  mutating func restart(_ tag: DownloadTag?) throws(HTTPError) {
    removeTag()
    guard ftruncate(descriptor, 0) == 0 else { throw Self.failure() }
    if let tag { try replaceTag(tag) }
  }

  /// Writes the tag anew, and leaves the bytes as they are.
  ///
  /// A process that is killed in between leaves no tag, or one without an end, and all is downloaded again.
  mutating func replaceTag(_ tag: DownloadTag) throws(HTTPError) {
    removeTag()
    tagDescriptor = open(tagPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard tagDescriptor >= 0 else { throw Self.failure() }
    try Self.write(Data(tag.text.utf8), to: tagDescriptor, at: 0)
  }

  /// Replaces the line of a piece in the tag, after its bytes were written.
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

  /// Removes what is there, which is of no use.
  consuming func remove() {
    _ = unlink(tagPath)
    _ = unlink(path)
  }

  /// Leaves no file behind in which there is nothing to go on from.
  func removeIfEmpty() {
    guard size == 0 else { return }
    _ = unlink(tagPath)
    _ = unlink(path)
  }

  /// The tag of what an earlier attempt left.
  func tag(for url: URL) -> DownloadTag? {
    guard let data = try? Data(contentsOf: URL(filePath: tagPath)) else { return nil }
    return DownloadTag(text: String(decoding: data, as: UTF8.self), for: url)
  }

  /// Puts the whole in its place.
  func finish() throws(HTTPError) {
    guard rename(path, file) == 0 else { throw Self.failure() }
    _ = unlink(tagPath)
  }

  private var tagPath: String { path + ".tag" }

  private static func failure(_ code: Int32 = errno) -> HTTPError {
    .request(underlying: POSIXError(POSIXError.Code(rawValue: code) ?? .EIO))
  }
}
