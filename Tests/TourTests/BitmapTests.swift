// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Testing

@testable import Tour

/// Writing, scaling and the limits of a picture.
@Suite struct BitmapTests {
  private func picture(_ width: Int, _ height: Int, seed: UInt64 = 1) throws -> Bitmap {
    var random = SeededGenerator(seed: seed)
    let pixels = (0..<width * height).map { _ in
      Bitmap.Pixel(
        red: .random(in: 0...255, using: &random),
        green: .random(in: 0...255, using: &random),
        blue: .random(in: 0...255, using: &random)
      )
    }
    return try Bitmap(width: width, height: height, pixels: pixels)
  }

  @Test(arguments: [(1, 1), (2, 3), (3, 2), (4, 4), (5, 1), (6, 5), (7, 7)])
  func readsBackWhatItWrites(width: Int, height: Int) throws {
    let original = try picture(width, height)
    let bytes = original.bmpBytes()
    #expect(bytes.count == 54 + (width * 3 + 3) / 4 * 4 * height)
    #expect(try Bitmap(bmp: bytes) == original)
  }

  @Test func writesTheFileByteForByte() throws {
    let original = try Bitmap(width: 3, height: 2, pixels: BMPFile.pixels)
    var expected = BMPFile(rows: BMPFile.rows24.reversed()).bytes
    for index in [63, 64, 65, 75, 76, 77] { expected[index] = 0 }  // the padding of the two rows
    for (index, byte) in [(34, 24), (38, 0x13), (39, 0x0B), (42, 0x13), (43, 0x0B)] { expected[index] = UInt8(byte) }
    #expect(original.bmpBytes() == expected)
  }

  @Test(arguments: [(1, 1, 1, 1), (2, 2, 1, 1), (1, 9, 1, 4), (5, 3, 2, 1), (8, 6, 4, 3)])
  func halvesEachSide(width: Int, height: Int, newWidth: Int, newHeight: Int) throws {
    let half = try picture(width, height).scaled(by: 0.5)
    #expect(half.width == newWidth)
    #expect(half.height == newHeight)
    #expect(half.pixels.count == newWidth * newHeight)
  }

  @Test func averagesEachBoxAndRounds() throws {
    let greys: [UInt8] = [10, 20, 0, 1, 255, 30, 41, 0, 1, 255]
    let original = try Bitmap(
      width: 5,
      height: 2,
      pixels: greys.map { grey in Bitmap.Pixel(red: grey, green: 0, blue: 255) }
    )
    let half = original.scaled(by: 0.5)
    // Five columns in two boxes: two and three. (10+20+30+41)/4 = 25.25; (0+1+255+0+1+255)/6 = 85.33.
    #expect(half.pixels == [25, 85].map { grey in Bitmap.Pixel(red: grey, green: 0, blue: 255) })
  }

  @Test(arguments: [(1.0, 6, 4), (7.0, 6, 4), (0.0, 1, 1), (-1.0, 1, 1), (Double.nan, 1, 1), (Double.infinity, 6, 4)])
  func acceptsEveryFactor(factor: Double, width: Int, height: Int) throws {
    let scaled = try picture(6, 4).scaled(by: factor)
    #expect(scaled.width == width)
    #expect(scaled.height == height)
  }

  @Test(arguments: [(0, 0), (-1, -1), (Int.max, Int.max), (2, 3)])
  func refusesSidesThatDoNotFit(width: Int, height: Int) {
    #expect(throws: BitmapError.self) { try Bitmap(width: width, height: height, pixels: []) }
  }

  @Test func halvesTheSamplePicture() throws {
    let original = try Bitmap(bmp: SamplePicture.load())
    #expect(original.width == 450)
    #expect(original.height == 300)
    let half = try Bitmap(bmp: original.scaled(by: 0.5).bmpBytes())
    #expect(half.width == 225)
    #expect(half.height == 150)
    let corner = [(0, 0), (1, 0), (0, 1), (1, 1)].compactMap { x, y in original.pixel(x: x, y: y) }
    let red = corner.reduce(0) { sum, pixel in sum + Int(pixel.red) }
    let average = (red + 2) / 4
    #expect(half.pixel(x: 0, y: 0)?.red == UInt8(average))
  }
}
