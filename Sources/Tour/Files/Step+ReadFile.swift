// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

extension Step<URL, [UInt8]> {
  /// Reads a file, and reports the progress.
  static var readFile: Step {
    Step("read") { url in
      let file = try RegularFile.reading(url.relativePath)
      let expected = try file.byteCount()
      var bytes: [UInt8] = []
      repeat {
        try Task.checkCancellation()
        guard max(expected, bytes.count) <= PictureSource.maximumByteCount else {
          throw FileError("read", url.relativePath, because: PictureSource.tooLarge)
        }
        StepProgress.report(Double(bytes.count) / Double(max(1, expected)))
        guard let more = try file.read(upTo: 1 << 20) else { return bytes }
        bytes += more
      } while true
    }
  }
}
