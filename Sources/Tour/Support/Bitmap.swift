// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A picture in memory: opaque pixels, row by row from the top left corner.
struct Bitmap: Sendable, Equatable {
  /// The colour of one point.
  struct Pixel: Sendable, Equatable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8
  }

  /// The maximum number of pixels of a picture.
  static let maximumPixelCount = 100_000_000

  let width: Int
  let height: Int
  let pixels: [Pixel]
}

/// An error thrown when a picture cannot be read, described in one line with the fix.
struct BitmapError: Error, Equatable, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

extension Bitmap {
  /// The file header (14 bytes) and the part of the information header that all kinds share (40 bytes).
  private static let headerSize = 54

  /// Reads an uncompressed Windows BMP of 24 or 32 bits a pixel.
  ///
  /// Nothing is allocated for the pixels before the file is known to hold them all. Bytes after the pixels are ignored.
  /// - Throws: `BitmapError` for anything else; no input traps.
  init(bmp bytes: [UInt8]) throws(BitmapError) {
    func number(at offset: Int, size: Int = 4) -> Int {
      (0..<size).reduce(0) { number, index in number | Int(bytes[offset + index]) << (8 * index) }
    }
    func needs(_ count: Int) throws(BitmapError) {
      guard count > bytes.count else { return }
      throw BitmapError("the BMP is truncated: \(bytes.count) of at least \(count) bytes are there; get a fresh copy")
    }
    guard !bytes.isEmpty else { throw BitmapError("the file is empty; give an uncompressed BMP picture") }
    guard bytes.starts(with: "BM".utf8) else {
      throw BitmapError("not a BMP picture; convert it to an uncompressed 24-bit BMP first")
    }
    try needs(Self.headerSize)
    let (offset, depth) = (number(at: 10), number(at: 28, size: 2))
    guard number(at: 14) >= 40, number(at: 30) == 0, depth == 24 || depth == 32 else {
      throw BitmapError("a BMP of this kind is not supported; save it again as an uncompressed 24-bit BMP")
    }
    // A negative height says that the rows begin at the top.
    let (width, storedHeight) = (
      Int(Int32(truncatingIfNeeded: number(at: 18))), Int32(truncatingIfNeeded: number(at: 22))
    )
    let height = Int(storedHeight.magnitude)
    guard width > 0, height > 0, height <= Self.maximumPixelCount / width else {
      let most = Self.maximumPixelCount / 1_000_000
      throw BitmapError("the picture claims to be \(width) x \(height) pixels; use one of at most \(most) million")
    }
    guard offset >= 14 + number(at: 14) else {
      throw BitmapError("the BMP is damaged: its pixels begin inside its header; get a fresh copy")
    }
    let bytesPerRow = (width * depth / 8 + 3) / 4 * 4
    try needs(offset + bytesPerRow * height)
    var pixels: [Pixel] = []
    pixels.reserveCapacity(width * height)
    for row in 0..<height {
      let start = offset + (storedHeight < 0 ? row : height - 1 - row) * bytesPerRow
      for position in stride(from: start, to: start + width * depth / 8, by: depth / 8) {
        pixels.append(Pixel(red: bytes[position + 2], green: bytes[position + 1], blue: bytes[position]))
      }
    }
    self.init(width: width, height: height, pixels: pixels)
  }

  /// The picture as the bytes of a 24-bit BMP file: rows from the bottom up, each padded to a multiple of 4 bytes.
  func bmpBytes() -> [UInt8] {
    let bytesPerRow = (width * 3 + 3) / 4 * 4
    let size = bytesPerRow * height
    // After the sides one plane of 24 bits, not compressed; then 72 dots an inch, in dots a metre, and no palette.
    let header = [
      Self.headerSize + size, 0, Self.headerSize, 40, width, height, 1 | 24 << 16, 0, size, 2835, 2835, 0, 0,
    ]
    var bytes = Array("BM".utf8)
    bytes.reserveCapacity(Self.headerSize + size)
    for number in header {
      for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
    for row in (0..<height).reversed() {
      for pixel in pixels[row * width..<(row + 1) * width] { bytes += [pixel.blue, pixel.green, pixel.red] }
      bytes += [UInt8](repeating: 0, count: bytesPerRow - width * 3)
    }
    return bytes
  }

  /// Returns a picture of half the size, with every second pixel of every second row.
  ///
  /// The sides are rounded down and at least 1.
  func halved() -> Bitmap {
    let (width, height) = (max(1, width / 2), max(1, height / 2))
    let halved = (0..<height).flatMap { row in
      (0..<width).map { column in pixels[2 * row * self.width + 2 * column] }
    }
    return Bitmap(width: width, height: height, pixels: halved)
  }
}
