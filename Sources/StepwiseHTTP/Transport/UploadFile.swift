// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseFiles

/// A file that is sent as a body.
enum UploadFile {
  /// Opens a file; returns it and the number of its bytes.
  ///
  /// - Throws: ``HTTPError/request(underlying:)`` with the system's error, also for a directory.
  static func open(_ file: URL) throws(HTTPError) -> (file: OpenFile, length: Int64) {
    try HTTPError.naming { () throws(FileFailure) in
      let open = try FileLocation(file.path).open(O_RDONLY, followsLinks: true)
      let status = try open.status()
      guard status.st_mode & S_IFMT != S_IFDIR else { throw FileFailure("open", file.path, EISDIR) }
      return (open, Int64(status.st_size))
    }
  }

  /// Throws if a file cannot be read.
  static func check(_ file: URL) throws(HTTPError) { _ = try open(file) }
}
