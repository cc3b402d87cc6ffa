// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// A folder that is created if it is missing, and removed again if it stays empty.
struct NewFolder: Sendable {
  /// The folders that were missing, innermost first.
  private let created: [String]

  /// Creates the folder and its parents.
  ///
  /// - Throws: `FileError`.
  init(_ path: String) throws(FileError) {
    var (missing, rest) = ([String](), path)
    while !rest.isEmpty, !FileManager.default.fileExists(atPath: rest) {
      missing.append(rest)
      rest = (rest as NSString).deletingLastPathComponent
    }
    created = missing
    for folder in missing.reversed() where mkdir(folder, 0o777) != 0 && errno != EEXIST {
      throw FileError("create", folder, code: errno)
    }
  }

  func removeIfEmpty() {
    for folder in created where rmdir(folder) != 0 { return }
  }
}
