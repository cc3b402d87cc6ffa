// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

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
