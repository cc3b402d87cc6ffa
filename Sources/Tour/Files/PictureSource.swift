// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// Where a picture comes from, and how large it may be.
enum PictureSource {
  /// The most bytes that are taken into memory.
  static let maximumByteCount = 100_000_000

  /// What is said about more bytes than that.
  static let tooLarge = "it is larger than \(maximumByteCount / 1_000_000) MB; use a smaller picture"

  /// What was given is an address that leads nowhere.
  struct InvalidAddress: Error, CustomStringConvertible {
    let description: String
  }

  /// The file or the address that the words of a command line name.
  ///
  /// - Throws: `InvalidAddress` for an address of another kind than HTTP. Whether anything is there is not looked at.
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
