// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ReadmeChainTests {
  @Test func `A program counts its own words`() async throws {
    let printed = Recorder<String>()
    let print = Printer(printed: printed)

    let wordCount = Chain("read") { (file: URL) in try String(contentsOf: file, encoding: .utf8) }
      .then("count") { text in text.split(whereSeparator: \.isWhitespace).count }
      .onError { error in print("cannot count:", error) }

    print(try await wordCount.run(URL(filePath: #filePath)))

    let count = try #require(printed.elements.first.flatMap { Int($0) })
    #expect(count > 100)
    await #expect(throws: (any Error).self) { try await wordCount.run(URL(filePath: "/no/such/file")) }
    #expect(printed.elements.last?.hasPrefix("cannot count:") == true)
  }

  @MainActor
  @Test func `A chain is built from closures, steps and functions`() async throws {
    let url = try #require(URL(string: "https://example.org/cat.png"))
    let logged = Recorder<String>()
    let log: @Sendable (any Error) -> Void = { error in logged.record("\(error)") }
    let spinner = Spinner()

    let thumbnail = Chain("download") { (url: URL) in try await download(url) }
      .then("decode") { data in try Image(data) }
      .appending(Step("shrink") { image in image.scaled(by: 0.5) }.timeout(.seconds(5)))
      .then(save)
      .onError { error in log(error) }
      .finally { @MainActor _ in spinner.stop() }

    let file = try await thumbnail.run(url)
    let run = thumbnail.start(url)
    let sameFile = try await run.value

    #expect(file == File(name: "4.png"))
    #expect(sameFile == file)
    #expect(!spinner.isSpinning)
    let wrong = try #require(URL(string: "ftp://example.org"))
    await #expect(throws: Failure("cannot download ftp://example.org")) { try await thumbnail.run(wrong) }
    #expect(logged.elements == ["cannot download ftp://example.org"])
  }

  @Test func `Other chains are derived from a chain`() async throws {
    let trimmed = Chain { (text: String) in text.trimmingCharacters(in: .whitespaces) }
    let length = trimmed.then { text in text.count }
    let shouted = trimmed.then { text in text.uppercased() }

    #expect(try await trimmed.run(" hi ") == "hi")
    #expect(try await length.run(" hi ") == 2)
    #expect(try await shouted.run(" hi ") == "HI")
  }

  @Test func `recover replaces errors of the steps before it`() async throws {
    @Sendable func fetchAvatar(_ name: String) async throws -> Data { throw Failure("no network for \(name)") }
    let placeholder = Data(count: 2)

    let avatar = Chain("fetch") { (name: String) in try await fetchAvatar(name) }
      .recover { _ in placeholder }
      .then("decode") { data in try Image(data) }

    #expect(try await avatar.run("anna").width == 2)
  }

  @Test func `A number of chains that is known at run time runs concurrently`() async throws {
    let parts = ["header", "body", "footer"].map { name in Chain { (id: Int) in "\(name) of \(id)" } }
    let page = try await Chain.zip(parts).run(7)
    let firstPart = try await Chain.race(parts).run(7)

    #expect(page == ["header of 7", "body of 7", "footer of 7"])
    #expect(page.contains(firstPart))
  }

  private nonisolated protocol Retriable { var lastKnownValue: Int { get } }
  private nonisolated struct MarketClosed: Error, Retriable { let lastKnownValue = 41 }

  @Test func `Four downloads run at once`() async throws {
    let thumbnails = Chain("download") { (url: URL) in try await download(url) }
      .overlap(.concurrent(max: 4))

    let url = try #require(URL(string: "https://example.org"))
    let runs = (0..<9).map { _ in thumbnails.start(url) }
    for run in runs { #expect(try await run.value.count == 8) }
  }

  @Test func `recover replaces errors of a protocol`() async throws {
    @Sendable func fetchQuote(_ symbol: String) async throws -> Int {
      if symbol.isEmpty { throw Failure("no symbol") }
      throw MarketClosed()
    }

    let quote = Chain("quote") { (symbol: String) in try await fetchQuote(symbol) }
      .recover(from: (any Retriable).self) { error in error.lastKnownValue }

    #expect(try await quote.run("SWFT") == 41)
    await #expect(throws: Failure("no symbol")) { try await quote.run("") }
  }

  @Test func `Chains run concurrently`() async throws {
    let user = Chain { (id: Int) in "user \(id)" }
    let posts = Chain { (id: Int) in [id, id + 1] }
    let mirror = Chain { (_: Int) -> String in throw Failure("the mirror is down") }
    let pages = posts

    let profile = Chain.zip(user, posts)
    let (name, numbers) = try await profile.run(7)

    let fastest = Chain.race(user, mirror)
    let winner = try await fastest.run(7)

    let titles = pages.thenMap("title", maxConcurrent: 4) { number in "page \(number)" }

    #expect(name == "user 7")
    #expect(numbers == [7, 8])
    #expect(winner == "user 7")
    #expect(try await titles.run(7) == ["page 7", "page 8"])
    let lost = Chain.race(mirror, mirror)
    let error = await #expect(throws: RaceError.self) { try await lost.run(7) }
    #expect(error?.errors.count == 2)
  }
}
