// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CompilerArticleTests {
  private let url = URL(filePath: "/cat.png")

  @Test
  func `Functions are steps, with and without names`() async throws {
    @Sendable func download(_ url: URL) async throws -> Data { Data(count: 8) }
    @Sendable func decode(_ data: Data) throws -> Image { try Image(data) }

    let thumbnail = Chain("download", download)
      .then("decode", decode)
      .then("save", save)

    #expect(try await thumbnail.run(url) == File(name: "8.png"))
  }

  @Test
  func `Closures state their types`() async throws {
    let area = Chain("parse") { (text: String) -> [Double] in text.split(separator: ",").compactMap { Double($0) } }
      .then("multiply") { (sides: [Double]) -> Double in sides.reduce(1, *) }

    #expect(try await area.run("2,3") == 6)
  }

  @Test
  func `A long chain is built from parts`() async throws {
    @Sendable func download(_ url: URL) async throws -> Data { Data(count: 8) }

    let load = Chain("download", download).then("decode") { data in try Image(data) }
    let store = Chain("shrink") { (image: Image) in image.scaled(by: 0.5) }.then("save", save)
    let thumbnail = load.appending(store)

    #expect(try await thumbnail.run(url) == File(name: "4.png"))
  }
}
