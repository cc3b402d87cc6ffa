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

/// An error thrown when a picture cannot be read, described in one line with the fix.
struct BitmapError: Error, Equatable, CustomStringConvertible {
  /// The kinds of errors.
  enum Code: Sendable {
    /// The bytes are not a BMP.
    case notABitmap
    /// The file ends before its pixels do.
    case truncated
    /// The sides are zero, negative or far too large.
    case absurdSize
    /// The BMP is of an unsupported kind.
    case unsupported
    /// The parts of the file contradict each other.
    case damaged
  }

  let code: Code
  let description: String

  init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}

extension Bitmap {
  /// Reads an uncompressed Windows BMP of 24 or 32 bits a pixel.
  ///
  /// Nothing is allocated for the pixels before the file is known to hold them all. Bytes after the pixels are ignored.
  /// - Throws: `BitmapError` for anything else; no input traps.
  init(bmp bytes: [UInt8]) throws(BitmapError) {
    let header = try BitmapHeader(bytes)
    self.init(unchecked: header.readPixels(of: bytes), width: header.width, height: header.height)
  }
}

/// The checked header of a BMP file: where its pixels are and how they are stored.
private struct BitmapHeader {
  let width: Int
  let height: Int
  private let isTopDown: Bool
  private let bytesPerPixel: Int
  private let bytesPerRow: Int
  private let pixelOffset: Int

  /// The file header (14 bytes) and the part of the information header that all kinds share (40 bytes).
  private static let commonSize = 54

  init(_ bytes: [UInt8]) throws(BitmapError) {
    let file = LittleEndianBytes(bytes)
    guard bytes.count >= 2, bytes[0] == UInt8(ascii: "B"), bytes[1] == UInt8(ascii: "M") else {
      throw BitmapError(
        .notABitmap,
        bytes.isEmpty
          ? "the file is empty; give an uncompressed BMP picture"
          : "not a BMP picture; convert it to an uncompressed 24-bit BMP first"
      )
    }
    guard bytes.count >= Self.commonSize else {
      throw Self.truncated(needed: Int64(Self.commonSize), present: bytes.count)
    }
    let headerSize = file.uint32(at: 14)
    guard [40, 52, 56, 108, 124].contains(headerSize) else {
      throw BitmapError(
        .unsupported,
        "a BMP with a header of \(headerSize) bytes is not supported; save it again as an uncompressed 24-bit BMP"
      )
    }
    let format = try Self.format(file, headerSize: headerSize)
    let storedWidth = Int64(file.int32(at: 18))
    let storedHeight = Int64(file.int32(at: 22))
    let rows = abs(storedHeight)
    _ = try Bitmap.pixelCount(width: storedWidth, height: rows)

    let offset = Int64(file.uint32(at: 10))
    guard offset >= Int64(format.headerEnd) else {
      throw BitmapError(.damaged, "the BMP is damaged: its pixels begin inside its header; get a fresh copy")
    }
    let rowSize = (storedWidth * Int64(format.bytesPerPixel) + 3) / 4 * 4
    let needed = offset + rowSize * rows
    guard needed <= Int64(bytes.count) else { throw Self.truncated(needed: needed, present: bytes.count) }

    width = Int(storedWidth)
    height = Int(rows)
    isTopDown = storedHeight < 0
    bytesPerPixel = format.bytesPerPixel
    bytesPerRow = Int(rowSize)
    pixelOffset = Int(offset)
  }

  /// The bytes of a pixel and the end of the header with its masks, once the kind of storage is known to be supported.
  private static func format(
    _ file: LittleEndianBytes,
    headerSize: UInt32
  ) throws(BitmapError) -> (bytesPerPixel: Int, headerEnd: Int) {
    let headerEnd = 14 + Int(headerSize)
    let bits = file.uint16(at: 28)
    switch (file.uint32(at: 30), bits) {
    case (0, 24), (0, 32):
      return (Int(bits) / 8, headerEnd)
    case (3, 32):
      // The masks follow the 40 bytes that all headers share: inside the longer ones, after the shortest.
      let masksEnd = commonSize + 12
      guard file.count >= masksEnd else { throw truncated(needed: Int64(masksEnd), present: file.count) }
      let masks = [54, 58, 62].map(file.uint32(at:))
      guard masks == [0x00FF_0000, 0x0000_FF00, 0x0000_00FF] else {
        throw BitmapError(
          .unsupported,
          "a BMP with an unusual order of colours is not supported; save it again as a 24-bit BMP"
        )
      }
      return (4, max(headerEnd, masksEnd))
    case (0, _):
      throw BitmapError(
        .unsupported,
        "a BMP of \(bits) bits a pixel is not supported; save it again with 24 or 32 bits"
      )
    case (let compression, _):
      throw BitmapError(
        .unsupported,
        "a BMP of \(bits) bits stored with method \(compression) is not supported; save it again uncompressed"
      )
    }
  }

  private static func truncated(needed: Int64, present: Int) -> BitmapError {
    BitmapError(.truncated, "the BMP is truncated: \(present) of at least \(needed) bytes are there; get a fresh copy")
  }

  /// The pixels of the file that this header was made from, from the top row down.
  func readPixels(of bytes: [UInt8]) -> [Bitmap.Pixel] {
    var pixels: [Bitmap.Pixel] = []
    pixels.reserveCapacity(width * height)
    for row in 0..<height {
      var position = pixelOffset + (isTopDown ? row : height - 1 - row) * bytesPerRow
      for _ in 0..<width {
        pixels.append(Bitmap.Pixel(red: bytes[position + 2], green: bytes[position + 1], blue: bytes[position]))
        position += bytesPerPixel
      }
    }
    return pixels
  }
}

/// Reads the little-endian numbers of a file; the caller has checked that they are there.
private struct LittleEndianBytes {
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  var count: Int { bytes.count }

  func uint16(at offset: Int) -> UInt16 {
    UInt16(bytes[offset]) | UInt16(bytes[offset + 1]) << 8
  }

  func uint32(at offset: Int) -> UInt32 {
    UInt32(uint16(at: offset)) | UInt32(uint16(at: offset + 2)) << 16
  }

  func int32(at offset: Int) -> Int32 {
    Int32(bitPattern: uint32(at: offset))
  }
}

extension Bitmap {
  /// The picture as the bytes of a 24-bit BMP file: rows from the bottom up, each padded to a multiple of 4 bytes.
  func bmpBytes() -> [UInt8] {
    let headerSize = 54
    let bytesPerRow = (width * 3 + 3) / 4 * 4
    let size = headerSize + bytesPerRow * height
    var file = LittleEndianWriter(capacity: size)
    file.append([UInt8(ascii: "B"), UInt8(ascii: "M")])
    file.append(uint32: size)
    file.append(uint32: 0)
    file.append(uint32: headerSize)

    file.append(uint32: 40)
    file.append(uint32: width)
    file.append(uint32: height)
    file.append([1, 0, 24, 0])  // one plane, 24 bits a pixel
    file.append(uint32: 0)  // not compressed
    file.append(uint32: bytesPerRow * height)
    for _ in 0..<2 { file.append(uint32: 2835) }  // 72 dots an inch, in dots a metre
    for _ in 0..<2 { file.append(uint32: 0) }  // no palette

    let padding = [UInt8](repeating: 0, count: bytesPerRow - width * 3)
    for row in stride(from: height - 1, through: 0, by: -1) {
      for pixel in pixels[row * width..<(row + 1) * width] {
        file.bytes.append(pixel.blue)
        file.bytes.append(pixel.green)
        file.bytes.append(pixel.red)
      }
      file.append(padding)
    }
    return file.bytes
  }
}

/// Collects the bytes of a file whose numbers are little-endian.
private struct LittleEndianWriter {
  var bytes: [UInt8] = []

  init(capacity: Int) {
    bytes.reserveCapacity(capacity)
  }

  mutating func append(_ more: [UInt8]) {
    bytes.append(contentsOf: more)
  }

  mutating func append(uint32 value: Int) {
    let value = UInt32(truncatingIfNeeded: value)
    for shift in stride(from: UInt32(0), through: 24, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }
}

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
