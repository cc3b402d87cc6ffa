// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

@testable import Tour

/// Builds BMP files of every kind, good and bad, independently of the encoder.
struct BMPFile {
  var headerSize = 40
  var width: Int32 = 3
  var height: Int32 = 2
  var bits: UInt16 = 24
  var compression: UInt32 = 0
  /// Bytes between the headers and the pixels.
  var gap = 0
  /// Nil is where the pixels are.
  var pixelOffset: UInt32?
  /// The rows as they stand in the file, without padding.
  var rows: [[UInt8]] = []

  var bytes: [UInt8] {
    var header: [UInt8] = []
    header += Self.number(UInt32(headerSize))
    header += Self.number(UInt32(bitPattern: width)) + Self.number(UInt32(bitPattern: height))
    header += [1, 0, UInt8(bits & 255), UInt8(bits >> 8)]
    header += Self.number(compression) + [UInt8](repeating: 0, count: 20)
    if header.count < headerSize { header += [UInt8](repeating: 0, count: headerSize - header.count) }
    header += [UInt8](repeating: 0xEE, count: gap)
    let padded = rows.flatMap { row in row + [UInt8](repeating: 0xDD, count: (4 - row.count % 4) % 4) }
    let offset = UInt32(14 + header.count)
    var file: [UInt8] = [0x42, 0x4D]
    for value in [offset + UInt32(padded.count), 0, pixelOffset ?? offset] { file += Self.number(value) }
    return file + header + padded
  }

  private static func number(_ value: UInt32) -> [UInt8] {
    (0..<4).map { index in UInt8(truncatingIfNeeded: value >> (index * 8)) }
  }

  /// Three by two pixels, each different, and their rows from the top down in the layouts of a file.
  static let pixels: [Bitmap.Pixel] = [0, 40, 80, 120, 160, 200].map { (shade: UInt8) -> Bitmap.Pixel in
    Bitmap.Pixel(red: shade, green: shade / 8, blue: 255 - shade)
  }
  static let rows24: [[UInt8]] = rows(endingPixelsWith: [])
  static let rows32: [[UInt8]] = rows(endingPixelsWith: [9])

  private static func rows(endingPixelsWith end: [UInt8]) -> [[UInt8]] {
    [pixels[0..<3], pixels[3..<6]].map { row in
      row.flatMap { pixel in [pixel.blue, pixel.green, pixel.red] + end }
    }
  }
}
