// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Testing

@testable import Tour

/// Writing, scaling and the limits of a picture.
@Suite struct BitmapTests {
  private func picture(_ width: Int, _ height: Int, seed: UInt64 = 1) -> Bitmap {
    var random = SeededGenerator(seed: seed)
    let pixels = (0..<width * height).map { _ in
      Bitmap.Pixel(
        red: .random(in: 0...255, using: &random),
        green: .random(in: 0...255, using: &random),
        blue: .random(in: 0...255, using: &random)
      )
    }
    return Bitmap(width: width, height: height, pixels: pixels)
  }

  @Test(arguments: [(1, 1), (2, 3), (3, 2), (4, 4), (5, 1), (6, 5), (7, 7)])
  func `A written bitmap is read back`(width: Int, height: Int) throws {
    let original = picture(width, height)
    let bytes = original.bmpBytes()
    #expect(bytes.count == 54 + (width * 3 + 3) / 4 * 4 * height)
    #expect(try Bitmap(bmp: bytes) == original)
  }

  @Test func `A bitmap is written byte for byte`() throws {
    let original = Bitmap(width: 3, height: 2, pixels: BMPFile.pixels)
    var expected = BMPFile(rows: BMPFile.rows24.reversed()).bytes
    for index in [63, 64, 65, 75, 76, 77] { expected[index] = 0 }  // the padding of the two rows
    for (index, byte) in [(34, 24), (38, 0x13), (39, 0x0B), (42, 0x13), (43, 0x0B)] { expected[index] = UInt8(byte) }
    #expect(original.bmpBytes() == expected)
  }

  @Test(arguments: [(1, 1, 1, 1), (2, 2, 1, 1), (1, 9, 1, 4), (5, 3, 2, 1), (8, 6, 4, 3)])
  func `Each side is halved`(width: Int, height: Int, newWidth: Int, newHeight: Int) throws {
    let half = picture(width, height).halved()
    #expect(half.width == newWidth)
    #expect(half.height == newHeight)
    #expect(half.pixels.count == newWidth * newHeight)
  }

  @Test func `The sample picture is halved`() throws {
    let original = try Bitmap(bmp: SamplePicture.load())
    #expect(original.width == 450)
    #expect(original.height == 300)
    let half = try Bitmap(bmp: original.halved().bmpBytes())
    #expect(half.width == 225)
    #expect(half.height == 150)
    #expect(half.pixels.first == original.pixels.first)
    #expect(half.pixels[225 + 1] == original.pixels[2 * 450 + 2])
  }
}
