// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// The picture that is part of the tour, a BMP file.
///
/// Chelsea the cat, photographed by Stéfan van der Walt, CC0, from scikit-image's sample data, cropped.
enum SamplePicture {
  /// An error thrown when the picture is missing.
  struct NotFound: Error, CustomStringConvertible {
    let description: String
  }

  /// The bytes of the file.
  ///
  /// - Throws: `NotFound` when the program was separated from its resources.
  static func load() throws(NotFound) -> [UInt8] {
    // Searched without `Bundle.module`, which ends the program when the bundle is missing.
    for folder in folders {
      for kind in ["resources", "bundle"] {
        let bundle = folder.appendingPathComponent("stepwise_Tour.\(kind)")
        for subfolder in ["", "Contents/Resources/"] {
          let file = bundle.appendingPathComponent("\(subfolder)cat.bmp")
          if let data = try? Data(contentsOf: file) { return [UInt8](data) }
        }
      }
    }
    throw NotFound(
      description: "the sample picture (stepwise_Tour.resources/cat.bmp) is missing; use 'swift run Tour'"
    )
  }

  /// The folders in which a build may have put the bundle: the program's own, and that of a test bundle.
  private static var folders: [URL] {
    final class Anchor {}
    let code = Bundle(for: Anchor.self).bundleURL
    return [Bundle.main.resourceURL, Bundle.main.bundleURL, code, code.deletingLastPathComponent()].compactMap(\.self)
  }
}
