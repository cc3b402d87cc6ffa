// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// The picture that the tour brings along, a BMP file.
///
/// Chelsea the cat, photographed by Stéfan van der Walt, CC0, from scikit-image's sample data, cropped.
enum SamplePicture {
  /// The picture is not where the build puts it.
  struct NotFound: Error, CustomStringConvertible {
    let description: String
  }

  /// The bytes of the file.
  ///
  /// - Throws: `NotFound` when the program was moved away from its resources.
  static func load() throws(NotFound) -> [UInt8] {
    // Looked for by hand: `Bundle.module` ends the program where its bundle is missing.
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

  /// The folders in which a build may have put the bundle: the program's own, and a test bundle's.
  private static var folders: [URL] {
    final class Anchor {}
    let code = Bundle(for: Anchor.self).bundleURL
    return [Bundle.main.resourceURL, Bundle.main.bundleURL, code, code.deletingLastPathComponent()].compactMap(\.self)
  }
}
