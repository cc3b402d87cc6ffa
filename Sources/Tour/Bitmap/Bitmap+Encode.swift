// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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
