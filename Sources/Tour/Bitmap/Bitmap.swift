// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A picture in memory: opaque pixels, row by row from the top left corner.
///
/// Transparency is not stored: the files that the tour writes have none.
struct Bitmap: Sendable, Equatable {
  /// The colour of one point.
  struct Pixel: Sendable, Equatable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8
  }

  /// The maximum number of pixels of a picture.
  ///
  /// It keeps every size computed below within 32 bits.
  static let maximumPixelCount = 100_000_000

  let width: Int
  let height: Int
  let pixels: [Pixel]

  /// Creates a picture from its pixels; the sides must fit their number.
  init(width: Int, height: Int, pixels: [Pixel]) throws(BitmapError) {
    let count = try Bitmap.pixelCount(width: Int64(width), height: Int64(height))
    guard pixels.count == count else {
      throw BitmapError(.damaged, "a picture of \(width) x \(height) needs \(count) pixels, not \(pixels.count)")
    }
    self.init(unchecked: pixels, width: width, height: height)
  }

  /// Creates a picture whose sides are already known to fit.
  init(unchecked pixels: [Pixel], width: Int, height: Int) {
    self.width = width
    self.height = height
    self.pixels = pixels
  }

  /// The pixel at a point, or nil outside the picture.
  func pixel(x: Int, y: Int) -> Pixel? {
    guard x >= 0, x < width, y >= 0, y < height else { return nil }
    return pixels[y * width + x]
  }

  /// The number of pixels of a picture with these sides.
  ///
  /// - Throws: `BitmapError` when a side is zero or negative, or there would be more than `maximumPixelCount`.
  static func pixelCount(width: Int64, height: Int64) throws(BitmapError) -> Int {
    guard width > 0, height > 0 else {
      throw BitmapError(
        .absurdSize,
        "the picture claims to be \(width) x \(height) pixels; save it again from its source"
      )
    }
    let (count, overflow) = width.multipliedReportingOverflow(by: height)
    guard !overflow, count <= Int64(maximumPixelCount) else {
      throw BitmapError(
        .absurdSize,
        "the picture claims to be \(width) x \(height) pixels; use one of at most \(maximumPixelCount / 1_000_000) million"
      )
    }
    return Int(count)
  }
}
