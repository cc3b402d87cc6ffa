// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// The source, the destination and the checksum of a download.
struct DownloadOrder: Codable, Equatable, Sendable {
  let address: String
  let path: String
  /// The required SHA-256 of the file, in lowercase hexadecimal; nil for any.
  let digest: String?

  /// The path of the checkpoint, until the download has completed.
  var workPath: String { path + ".download" }

  /// Whether there is something that a later download can resume.
  var isResumable: Bool { FileManager.default.fileExists(atPath: path + ".part") }

  /// The name of the file in the output.
  var name: String { path.split(separator: "/").last.map(String.init) ?? path }

  /// Returns the file name that a URL suggests: the last part of its path, as far as it is valid.
  static func suggestedName(for address: String) -> String {
    let name = URL(string: address)?.lastPathComponent ?? ""
    let isUsable = !name.isEmpty && ![".", "..", "/"].contains(name) && !name.contains { $0 == "/" || $0 == "\0" }
    return isUsable ? name : "download"
  }
}
