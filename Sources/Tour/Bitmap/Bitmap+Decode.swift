// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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
