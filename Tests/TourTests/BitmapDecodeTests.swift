// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Testing

@testable import Tour

/// Which files are read, and what is said about the others.
@Suite struct BitmapDecodeTests {
  static let good: [BMPFile] = [
    BMPFile(rows: BMPFile.rows24.reversed()),
    BMPFile(height: -2, rows: BMPFile.rows24),
    BMPFile(gap: 7, rows: BMPFile.rows24.reversed()),
    BMPFile(headerSize: 108, rows: BMPFile.rows24.reversed()),
    BMPFile(headerSize: 124, height: -2, rows: BMPFile.rows24),
    BMPFile(bits: 32, rows: BMPFile.rows32.reversed()),
  ]

  @Test(arguments: good)
  func `Every supported kind of bitmap is read`(file: BMPFile) throws {
    let picture = try Bitmap(bmp: file.bytes)
    #expect(picture.width == 3)
    #expect(picture.height == 2)
    #expect(picture.pixels == BMPFile.pixels)
  }

  @Test(arguments: good)
  func `Every truncation is refused`(file: BMPFile) throws {
    let bytes = file.bytes
    for count in 0..<bytes.count {
      let error = try #require(throws: BitmapError.self) { try Bitmap(bmp: Array(bytes.prefix(count))) }
      #expect(error.description.contains(count == 0 ? "empty" : count < 2 ? "not a BMP" : "truncated"))
    }
  }

  static let bad: [(BMPFile, String)] = [
    (BMPFile(width: 0), "claims to be"),
    (BMPFile(height: 0), "claims to be"),
    (BMPFile(width: -3, rows: BMPFile.rows24), "claims to be"),
    (BMPFile(width: .max, height: .max), "claims to be"),
    (BMPFile(width: .max, height: .min), "claims to be"),
    (BMPFile(width: .min, height: .min), "claims to be"),
    (BMPFile(width: 10_001, height: 10_000), "claims to be"),
    (BMPFile(width: 10_000, height: 10_000, rows: BMPFile.rows24), "truncated"),
    (BMPFile(headerSize: 12, rows: BMPFile.rows24), "not supported"),
    (BMPFile(bits: 8, rows: BMPFile.rows24), "not supported"),
    (BMPFile(bits: 16, rows: BMPFile.rows24), "not supported"),
    (BMPFile(bits: 24, compression: 1, rows: BMPFile.rows24), "not supported"),
    (BMPFile(bits: 32, compression: 3, rows: BMPFile.rows32), "not supported"),
    (BMPFile(pixelOffset: 10, rows: BMPFile.rows24), "damaged"),
    (BMPFile(pixelOffset: .max, rows: BMPFile.rows24), "truncated"),
  ]

  @Test(arguments: bad)
  func `Unsupported bitmaps are refused`(file: BMPFile, words: String) throws {
    let error = try #require(throws: BitmapError.self) { try Bitmap(bmp: file.bytes) }
    #expect(error.description.contains(words), "\(error)")
    let isOneLine = error.description.allSatisfy { !$0.isNewline }
    #expect(isOneLine)
  }

  @Test(arguments: [Array("B".utf8), Array("GIF89a, and so on".utf8), [UInt8](repeating: 0, count: 100)])
  func `Other files are refused`(bytes: [UInt8]) throws {
    let error = try #require(throws: BitmapError.self) { try Bitmap(bmp: bytes) }
    #expect(error.description.contains("not a BMP picture"))
  }

  @Test func `Random mutations are survived`() throws {
    var random = SeededGenerator(seed: 20_260_101)
    let originals = Self.good.map(\.bytes)
    var readable = 0
    for _ in 0..<20_000 {
      var bytes = originals[Int.random(in: 0..<originals.count, using: &random)]
      for _ in 0..<Int.random(in: 1...8, using: &random) where !bytes.isEmpty {
        // The headers more often than the pixels, with the values at which arithmetic goes wrong.
        let index = Int.random(in: 0..<min(bytes.count, Bool.random(using: &random) ? 66 : .max), using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[index] = .random(in: 0...255, using: &random)
        case 1: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 2: for place in index..<min(index + 4, bytes.count) { bytes[place] = 0xFF }
        case 3: bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
        default: bytes.insert(.random(in: 0...255, using: &random), at: index)
        }
      }
      do {
        let picture = try Bitmap(bmp: bytes)
        #expect(picture.pixels.count == picture.width * picture.height)
        readable += 1
      } catch {
        #expect(!error.description.isEmpty)
      }
    }
    #expect((1000..<19_000).contains(readable))
  }
}
