// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// What is to be downloaded, where to, and what it has to be.
struct DownloadOrder: Codable, Equatable, Sendable {
  let address: String
  let path: String
  /// The SHA-256 that the file has to have, in lowercase hexadecimal; nil for any.
  let digest: String?

  /// Where the checkpoint is, as long as the download is not done.
  var workPath: String { path + ".download" }

  /// Whether there is something that a later download can resume.
  var isResumable: Bool { FileManager.default.fileExists(atPath: path + ".part") }

  /// What the file is called in what is shown.
  var name: String { path.split(separator: "/").last.map(String.init) ?? path }

  /// The name that an address suggests for its file: the last part of its path, as far as that can be one.
  static func suggestedName(for address: String) -> String {
    let name = URL(string: address)?.lastPathComponent ?? ""
    let isUsable = !name.isEmpty && ![".", "..", "/"].contains(name) && !name.contains { $0 == "/" || $0 == "\0" }
    return isUsable ? name : "download"
  }
}
