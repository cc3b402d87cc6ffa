// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFiles
import StepwiseHTTP

/// Files as the scenes read and write them.
enum Files {
  /// Reads all bytes of a file.
  static func read(_ path: String) throws(FileFailure) -> [UInt8] {
    let file = try FileLocation(path).open(O_RDONLY, followsLinks: true)
    return try file.read(Int(file.status().st_size))
  }

  /// Writes to a temporary file and renames it, so that the file is either complete or unchanged whenever the process
  /// ends.
  ///
  /// A temporary file that another process left there is replaced.
  static func write(_ bytes: [UInt8], to path: String) throws(FileFailure) {
    let partial = FileLocation(path + ".partial")
    do {
      try partial.unlink()
      let file = try partial.open(O_WRONLY | O_CREAT | O_EXCL)
      try file.write(bytes, at: 0)
      try file.sync()
      try partial.rename(to: FileLocation(path))
    } catch {
      _ = try? partial.unlink()
      throw error
    }
  }
}

extension Step<String, [UInt8]> {
  /// Reads a file.
  static let readFile = Step("read") { path in try Files.read(path) }

  /// Fetches a URL, and reports the progress.
  static let download = Step("download") { address in
    let deadlines = HTTPDeadlines(headers: .seconds(10), idle: .seconds(10))
    let response = try await HTTP.stream(address, deadlines: deadlines).requireSuccess()
    let length = response.headers["Content-Length"].flatMap { Double($0) }
    var bytes: [UInt8] = []
    for try await chunk in response.body {
      bytes += chunk
      guard bytes.count <= 100_000_000 else { throw HTTPError.bodyTooLarge(limit: 100_000_000) }
      if let length { StepProgress.report(Double(bytes.count) / length) }
    }
    return bytes
  }
}
