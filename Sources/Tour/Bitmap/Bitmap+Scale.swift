// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Bitmap {
  /// Returns a smaller picture; each of its pixels is the average of a box of pixels.
  ///
  /// The sides are rounded down and at least 1. Every pixel of the original counts in exactly one box, so an odd side
  /// loses nothing. A factor of 1 or more returns the picture unchanged, one of 0 or less a single pixel.
  func scaled(by factor: Double) -> Bitmap {
    let factor = factor > 0 ? min(factor, 1) : 0
    let newWidth = max(1, Int(Double(width) * factor))
    let newHeight = max(1, Int(Double(height) * factor))
    guard newWidth < width || newHeight < height else { return self }

    let columns = Self.boxes(dividing: width, into: newWidth)
    var result: [Pixel] = []
    result.reserveCapacity(newWidth * newHeight)
    for rows in Self.boxes(dividing: height, into: newHeight) {
      for columns in columns {
        result.append(average(rows: rows, columns: columns))
      }
    }
    return Bitmap(unchecked: result, width: newWidth, height: newHeight)
  }

  /// Divides a side into neighbouring ranges that differ by at most one in length.
  private static func boxes(dividing side: Int, into count: Int) -> [Range<Int>] {
    // 64 bits, because the product of two long sides does not fit the Int of a watch.
    let starts = (0...count).map { Int(Int64($0) * Int64(side) / Int64(count)) }
    return zip(starts, starts.dropFirst()).map { $0..<$1 }
  }

  private func average(rows: Range<Int>, columns: Range<Int>) -> Pixel {
    var red: UInt64 = 0
    var green: UInt64 = 0
    var blue: UInt64 = 0
    for row in rows {
      for index in row * width + columns.lowerBound..<row * width + columns.upperBound {
        let pixel = pixels[index]
        red += UInt64(pixel.red)
        green += UInt64(pixel.green)
        blue += UInt64(pixel.blue)
      }
    }
    let count = UInt64(rows.count * columns.count)
    func rounded(_ sum: UInt64) -> UInt8 { UInt8((sum + count / 2) / count) }
    return Pixel(red: rounded(red), green: rounded(green), blue: rounded(blue))
  }
}
