// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// Downloads of several segments at the same time.
@Suite(.timeLimit(.minutes(5))) struct SegmentedDownloadTests {
  static let content = (0..<1_200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 256) }

  private static func reply(to request: Request) -> Reply { DownloadTests.reply(to: request, content: content) }

  /// Slow enough that the first response has not brought the whole before the others begin.
  private static func slowly(_ reply: Reply) -> Reply { reply.slowly(chunkSize: 40_000, pause: .milliseconds(2)) }

  @Test func segmentsAreRequestedAtTheSameTime() async throws {
    let (ranges, progress) = (Recorder<String>(), Recorder<HTTPDownloadProgress>())
    let server = try serve { request in
      ranges.record(request.header("Range") ?? "-")
      return Self.slowly(Self.reply(to: request))
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      let sha256 = checksum(Self.content)
      let response = try await HTTP.download(server.url(), to: file, segments: 4, sha256: sha256) {
        progress.record($0)
      }
      #expect(response.status == 200 && response.body.isEmpty)
      try DownloadTests.expectWhole(file, Self.content)
      #expect(
        Set(ranges.elements) == ["-", "bytes=300000-599999", "bytes=600000-899999", "bytes=900000-1199999"]
      )
      let received = progress.elements.map(\.receivedBytes)
      #expect(received == received.sorted() && received.last == 1_200_000)
    }
  }

  /// Each is cut short at random, until all is there.
  @Test(arguments: 0..<20 as Range<UInt64>) func anInterruptedDownloadResumesEachSegment(seed: UInt64) async throws {
    let random = Lock(Xorshift(seed: seed))
    let server = try serve { request in
      let reply = Self.reply(to: request)
      let limit = random.withLock { Int.random(in: 1...400_000, using: &$0) }
      return Self.slowly(limit < reply.body.count ? reply.closing(after: limit) : reply)
    }
    try await inFolder { folder in
      let (url, file) = (try server.url(), folder.appendingPathComponent("file"))
      var attempts = 0
      while attempts < 1_000 {
        attempts += 1
        let segments = random.withLock { Int.random(in: 1...5, using: &$0) }
        do {
          #expect(try await HTTP.download(url, to: file, segments: segments).isSuccess)
          break
        } catch {
          #expect(error is HTTPError)
          #expect(!FileManager.default.fileExists(atPath: file.path))
        }
      }
      try DownloadTests.expectWhole(file, Self.content)
    }
  }

  @Test func aCancelledDownloadResumesEachSegment() async throws {
    let ranges = Recorder<String>()
    let server = try serve { request in
      ranges.record(request.header("Range") ?? "-")
      let reply = Self.reply(to: request)
      return ranges.elements.count <= 4 ? reply.stalling(after: 100_000) : reply
    }
    try await inFolder { folder in
      let (url, file, progress) = (
        try server.url(), folder.appendingPathComponent("file"), Recorder<HTTPDownloadProgress>()
      )
      let first = Task {
        try await HTTP.download(url, to: file, segments: 4) {
          if $0.receivedBytes == 400_000 { progress.record($0) }
        }
      }
      await progress.elements(atLeast: 1)
      first.cancel()
      await #expect(throws: CancellationError.self) { try await first.value }
      let response = try await HTTP.download(url, to: file, segments: 4) { progress.record($0) }
      #expect(response.status == 206)
      #expect(progress.elements.dropFirst().first?.resumedBytes == 400_000)
      try DownloadTests.expectWhole(file, Self.content)
      let rest = ["bytes=100000-299999", "bytes=400000-599999", "bytes=700000-899999", "bytes=1000000-1199999"]
      #expect(Set(ranges.elements.dropFirst(4)) == Set(rest))
    }
  }

  /// What is there of an undivided download is kept.
  @Test func theRestOfAFileIsDivided() async throws {
    let ranges = Recorder<String>()
    let server = try serve { request in
      ranges.record(request.header("Range") ?? "-")
      let reply = Self.reply(to: request)
      return ranges.elements.count == 1 ? reply.closing(after: 200_000) : Self.slowly(reply)
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      try await DownloadTests.breakOff(server, file)
      #expect(try await HTTP.download(server.url("/file"), to: file, segments: 2).status == 206)
      try DownloadTests.expectWhole(file, Self.content)
      #expect(ranges.elements == ["-", "bytes=200000-", "bytes=700000-1199999"])
    }
  }

  @Test(arguments: [200, 503, 416]) func aServerWithoutRangesSendsTheWhole(status: Int) async throws {
    let server = try serve { request in
      let whole = Self.slowly(Reply(headers: [("ETag", "\"v1\"")], body: Self.content))
      return request.header("Range") == nil || status == 200 ? whole : Reply(status: status)
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      #expect(try await HTTP.download(server.url(), to: file, segments: 4).status == 200)
      try DownloadTests.expectWhole(file, Self.content)
    }
  }

  @Test(arguments: [[("Accept-Ranges", "none"), ("ETag", "\"1\"")], [], [("ETag", "W/\"1\"")]])
  func aServerThatCannotBeCheckedIsAskedOnce(headers: [(String, String)]) async throws {
    let server = try serve { _ in Reply(headers: headers.map { (name: $0.0, value: $0.1) }, body: Self.content) }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      #expect(try await HTTP.download(server.url(), to: file, segments: 4).status == 200)
      try DownloadTests.expectWhole(file, Self.content)
      #expect(server.requestCount == 1)
    }
  }

  /// The file changes between the first response and the others.
  @Test(arguments: [true, false]) func segmentsOfAnotherFileAreNotMixed(repeatsTag: Bool) async throws {
    let changed = Self.content.map { ~$0 } + [1]
    let wholes = Recorder<Bool>()
    let server = try serve { request in
      if request.header("Range") == nil {
        wholes.record(true)
        let content = wholes.elements.count == 1 ? Self.content : changed
        return Self.slowly(DownloadTests.reply(to: request, content: content, tag: "\"v\(wholes.elements.count)\""))
      }
      var reply = DownloadTests.reply(to: request, content: changed, tag: request.header("If-Range") ?? "")
      reply.headers.removeAll { $0.name == "ETag" }
      if repeatsTag { reply.headers.append(("ETag", "\"v2\"")) }
      return reply
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      #expect(try await HTTP.download(server.url(), to: file, segments: 4).status == 200)
      try DownloadTests.expectWhole(file, changed)
      #expect(wholes.elements.count == 2)
    }
  }

  @Test func aRefusalOfWhatIsMissingIsTheResponse() async throws {
    let isBusy = Lock(false)
    let server = try serve { request in
      guard !isBusy.withLock({ $0 }) else { return Reply.text("later", status: 503) }
      return Self.reply(to: request).closing(after: 100_000)
    }
    try await inFolder { folder in
      let (url, file) = (try server.url(), folder.appendingPathComponent("file"))
      await #expect(throws: HTTPError.self) { try await HTTP.download(url, to: file, segments: 4) }
      isBusy.withLock { $0 = true }
      let response = try await HTTP.download(url, to: file, segments: 4)
      #expect(response.status == 503 && response.text == "later")
      #expect(FileManager.default.fileExists(atPath: file.path + ".part"))
    }
  }
}
