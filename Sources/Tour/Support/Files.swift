// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFiles

/// An error of reading or writing a file, described in one line.
struct FileError: Error, CustomStringConvertible {
  let description: String

  /// Creates an error from an operation on a file and a reason in words.
  init(_ what: String, _ path: String, because reason: String) {
    description = "cannot \(what) '\(path)': \(reason)"
  }

  /// The system's description of an error.
  static func words(for code: Int32) -> String { SystemMessage.text(for: code).lowercased() }
}

/// Files as the scenes read and write them; the errors name the operation for the user.
enum Files {
  /// Opens a file for reading.
  ///
  /// - Throws: `FileError`, also for a directory, a device or a pipe, whose bytes may never end.
  static func open(_ path: String) throws(FileError) -> OpenFile {
    try naming("read", path, or: "it is not a regular file") { () throws(FileFailure) in
      let file = try FileLocation(path).open(O_RDONLY, followsLinks: true)
      let kind = try file.status().st_mode & S_IFMT
      guard kind != S_IFDIR else { throw FileFailure("open", path, EISDIR) }
      return kind == S_IFREG ? file : nil
    }
  }

  /// Reads all bytes of a file.
  ///
  /// - Throws: `FileError`, also for more bytes than the limit.
  static func read(_ path: String, atMost limit: Int = .max) throws(FileError) -> [UInt8] {
    let file = try open(path)
    return try naming("read", path, or: PictureSource.tooLarge) { () throws(FileFailure) in
      guard try file.status().st_size <= limit else { return nil }
      var bytes: [UInt8] = []
      while case let more = try file.read(1 << 20), !more.isEmpty, bytes.count <= limit { bytes += more }
      return bytes
    }
  }

  /// Writes to a temporary file and renames it, so that the file is either complete or unchanged whenever the process
  /// ends.
  ///
  /// A temporary file that another process left there is replaced.
  ///
  /// - Throws: `FileError`.
  static func write(_ bytes: [UInt8], to path: String, by otherPath: String? = nil) throws(FileError) {
    let partial = FileLocation(otherPath ?? path + ".partial")
    try naming("write", path) { () throws(FileFailure) in
      try partial.unlink()
      let file = try partial.open(O_WRONLY | O_CREAT | O_EXCL)
      try file.write(bytes)
      try file.sync()
      return try partial.rename(to: FileLocation(path))
    }
  }

  /// Runs calls on a file; their errors name the operation, and nil is an error for the given reason.
  static func naming<Value>(
    _ what: String,
    _ path: String,
    or reason: String = "",
    _ body: () throws(FileFailure) -> Value?
  ) throws(FileError) -> Value {
    do {
      if let value = try body() { return value }
    } catch {
      throw FileError(what, path, because: FileError.words(for: error.code))
    }
    throw FileError(what, path, because: reason)
  }
}

/// A file that is written under a temporary name beside its destination, and renamed when it is complete.
///
/// A file at the destination stays unchanged until then, whatever goes wrong.
struct PartialFile: Sendable {
  /// The destination.
  let path: String
  /// The temporary path, in the same directory, because the file is renamed.
  private let partialPath: String

  /// Creates the description of a file; nothing is written yet.
  init(for path: String) {
    self.path = path
    partialPath = "\(path).\(UInt64.random(in: 0 ... .max)).partial"
  }

  /// Creates the empty file, to detect early whether it can be written.
  ///
  /// - Throws: `FileError`, also when the destination is something other than a regular file.
  func create() throws(FileError) {
    guard !path.isEmpty, path.utf8.last != UInt8(ascii: "/") else {
      throw FileError("write", path, because: "it names no file")
    }
    _ = try Files.naming("write", path, or: "something is there that is not a regular file") { () throws(FileFailure) in
      // Renaming over a device such as /dev/null would remove it, and renaming over a link would replace it.
      let kind = try FileLocation(path).status().map { $0.st_mode & S_IFMT } ?? S_IFREG
      guard kind != S_IFDIR else { throw FileFailure("open", path, EISDIR) }
      return try kind == S_IFREG ? FileLocation(partialPath).open(O_WRONLY | O_CREAT | O_EXCL) : nil
    }
  }

  /// Writes the file and renames it to its destination.
  ///
  /// - Throws: `FileError`.
  func complete(with bytes: [UInt8]) throws(FileError) { try Files.write(bytes, to: path, by: partialPath) }

  /// Removes an incomplete file; does nothing when the file is complete or was never created.
  func remove() { _ = try? FileLocation(partialPath).unlink() }
}

extension Step<URL, [UInt8]> {
  /// Reads a file.
  static var readFile: Step {
    Step("read") { url in try Files.read(url.relativePath, atMost: PictureSource.maximumByteCount) }
  }
}

/// The source of a picture, and its size limit.
enum PictureSource {
  /// The maximum number of bytes read into memory.
  static let maximumByteCount = 100_000_000

  /// The message for a larger picture.
  static let tooLarge = "it is larger than \(maximumByteCount / 1_000_000) MB; use a smaller picture"

  /// A URL that cannot be used.
  struct InvalidAddress: Error, CustomStringConvertible {
    let description: String
  }

  /// The file or the URL that an argument names.
  ///
  /// - Throws: `InvalidAddress` for a URL with a scheme other than HTTP. Its existence is not checked.
  static func url(_ words: String) throws(InvalidAddress) -> URL {
    guard !words.isEmpty else {
      throw InvalidAddress(description: "the picture has no name: give a file or an address")
    }
    guard words.contains("://") else { return URL(fileURLWithPath: words) }
    if let url = URL(string: words) {
      if url.isFileURL { return URL(fileURLWithPath: url.path) }
      if ["http", "https"].contains(url.scheme?.lowercased()), url.host?.isEmpty == false { return url }
    }
    throw InvalidAddress(description: "cannot fetch '\(words)': give a file, or an address such as http://host/cat.bmp")
  }
}
