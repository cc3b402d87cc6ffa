// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// What the file system knows about a file.
package struct FileFacts: Sendable, Hashable {
  /// The size in bytes.
  package let size: Int
  /// The time of the last change of the content, in seconds since 1970.
  package let lastChange: Double
}

extension FileLocation {
  /// Returns the facts about the file, or about a link itself; nil when nothing exists there.
  package func facts() throws(FileFailure) -> FileFacts? {
    guard let status = try status() else { return nil }
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    return FileFacts(size: Int(status.st_size), lastChange: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
  }
}
