// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

/// Files that are read and written as a whole.
enum WholeFile {
  /// Reads all bytes.
  ///
  /// - Throws: `FileError`.
  static func read(_ path: String) throws(FileError) -> [UInt8] {
    let file = try RegularFile.reading(path)
    var bytes: [UInt8] = []
    while let more = try file.read(upTo: 1 << 20) { bytes += more }
    return bytes
  }

  /// Writes to a temporary file and renames it, so that the file is either complete or unchanged whenever the process
  /// ends.
  ///
  /// A temporary file that another process left there is replaced.
  ///
  /// - Throws: `FileError`.
  static func write(_ bytes: [UInt8], to path: String, by otherPath: String? = nil) throws(FileError) {
    let partialPath = otherPath ?? path + ".partial"
    _ = try? FileLocation(partialPath).unlink()
    let file = try RegularFile.creating(partialPath)
    try file.write(bytes[...])
    try file.synchronize()
    try FileError.naming("write", path) { () throws(FileFailure) in
      try FileLocation(partialPath).rename(to: FileLocation(path))
    }
  }
}
