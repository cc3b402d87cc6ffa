// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// Downloads into files, whole and resumed.
@Suite(.timeLimit(.minutes(5))) struct DownloadTests {
  static let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 256) }

  /// Serves ranges of the content as RFC 9110 says; the body breaks off after some bytes, if told.
  static func reply(
    to request: Request,
    content: [UInt8] = content,
    tag: String = "\"v1\"",
    breaking: Int? = nil
  ) -> Reply {
    var reply = Reply(headers: [("ETag", tag)], body: content)
    if let range = request.header("Range"), request.header("If-Range") ?? tag == tag,
      let start = Int(range.dropFirst(6).prefix { $0 != "-" })
    {
      guard start < content.count else {
        return Reply(status: 416, headers: [("Content-Range", "bytes */\(content.count)")])
      }
      let last = min(Int(range.drop { $0 != "-" }.dropFirst()) ?? .max, content.count - 1)
      reply = Reply(
        status: 206,
        headers: [("ETag", tag), ("Content-Range", "bytes \(start)-\(last)/\(content.count)")],
        body: Array(content[start...last])
      )
    }
    return breaking.map { reply.closing(after: $0) } ?? reply
  }

  static func breakOff(
    _ server: LoopbackServer,
    _ file: URL,
    with error: HTTPError = .connectionLost(reason: "")
  ) async throws {
    await #expect(throws: error) {
      try await HTTP.download(server.url("/file"), to: file)
    }
    #expect(!FileManager.default.fileExists(atPath: file.path))
    #expect(FileManager.default.fileExists(atPath: file.path + ".part"))
  }

  static func expectWhole(_ file: URL, _ content: [UInt8] = content) throws {
    #expect(try Data(contentsOf: file) == Data(content))
    let names = try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path)
    #expect(names == [file.lastPathComponent])
  }

  @Test func `A download writes its file and reports progress`() async throws {
    let server = try serve { Self.reply(to: $0) }
    try await inFolder { folder in
      let (file, progress) = (folder.appendingPathComponent("a file"), Recorder<HTTPDownloadProgress>())
      try Data("old".utf8).write(to: file)
      let response = try await HTTP.download(server.url("/file"), to: file) { progress.record($0) }
      #expect(response.status == 200 && response.body.isEmpty)
      try Self.expectWhole(file)
      let all = progress.elements
      #expect(all.first?.receivedBytes == 0 && all.last?.receivedBytes == 300_000)
      #expect(all.map(\.receivedBytes) == all.map(\.receivedBytes).sorted())
      #expect(all.allSatisfy { $0.totalBytes == 300_000 && $0.resumedBytes == 0 })
      #expect(all.last?.fractionCompleted == 1)
    }
  }

  @Test func `A download reports the progress of its step`() async throws {
    let server = try serve { Self.reply(to: $0) }
    try await inFolder { folder in
      let url = try server.url("/file")
      let run = Chain("download") { (file: URL) in try await HTTP.download(url, to: file).status }
        .start(folder.appendingPathComponent("file"))
      #expect(try await run.value == 200)
      var last = 0.0
      for await progress in run.progress { last = progress.fractionCompleted }
      #expect(last == 1)
    }
  }

  @Test func `A download resumes by range where it broke off`() async throws {
    let ranges = Recorder<String>()
    let server = try serve { request in
      ranges.record("\(request.header("Range") ?? "-") \(request.header("If-Range") ?? "-")")
      return Self.reply(to: request, breaking: ranges.elements.count < 3 ? 100_000 : nil)
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      try await Self.breakOff(server, file)
      try await Self.breakOff(server, file)
      let progress = Recorder<HTTPDownloadProgress>()
      let response = try await HTTP.download(server.url("/file"), to: file) { progress.record($0) }
      #expect(response.status == 206)
      try Self.expectWhole(file)
      #expect(ranges.elements == ["- -", "bytes=100000- \"v1\"", "bytes=200000- \"v1\""])
      #expect(
        progress.elements.first
          == HTTPDownloadProgress(receivedBytes: 200_000, totalBytes: 300_000, resumedBytes: 200_000)
      )
    }
  }

  @Test func `A download resumes after a cancel`() async throws {
    let requested = Recorder<String>()
    let server = try serve { request in
      requested.record(request.header("Range") ?? "-")
      let reply = Self.reply(to: request)
      return request.header("Range") == nil ? reply.stalling(after: 100_000) : reply
    }
    try await inFolder { folder in
      let (file, progress) = (folder.appendingPathComponent("file"), Recorder<HTTPDownloadProgress>())
      let url = try server.url("/file")
      // How many pieces the bytes come in is the transport's choice.
      let first = Task {
        try await HTTP.download(url, to: file) { if $0.receivedBytes > 0 { progress.record($0) } }
      }
      await progress.elements(atLeast: 1)
      first.cancel()
      await #expect(throws: CancellationError.self) { try await first.value }
      // At once: what the cancelled one still receives is not written, and it holds no lock.
      #expect(try await HTTP.download(url, to: file).status == 206)
      try Self.expectWhole(file)
      #expect(requested.elements.count == 2)
    }
  }

  /// `If-Range` guards against a file that has changed.
  @Test func `A download restarts when the file has changed`() async throws {
    let changed = [UInt8](repeating: 9, count: 200_000)
    let count = Recorder<Bool>()
    let server = try serve { request in
      count.record(true)
      return count.elements.count == 1
        ? Self.reply(to: request, breaking: 100_000) : Self.reply(to: request, content: changed, tag: "\"v2\"")
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      try await Self.breakOff(server, file)
      #expect(try await HTTP.download(server.url("/file"), to: file).status == 200)
      try Self.expectWhole(file, changed)
    }
  }

  @Test func `A download restarts when the server ignores ranges`() async throws {
    let count = Recorder<Bool>()
    let server = try serve { _ in
      count.record(true)
      let reply = Reply(headers: [("ETag", "\"v1\"")], body: Self.content)
      return count.elements.count == 1 ? reply.closing(after: 100_000) : reply
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      try await Self.breakOff(server, file)
      #expect(try await HTTP.download(server.url("/file"), to: file).status == 200)
      try Self.expectWhole(file)
    }
  }

  /// A weak tag, a time that may be of the same second, and nothing at all tell nothing about the bytes.
  @Test(arguments: [
    [("ETag", "W/\"1\"")], [],
    [("Last-Modified", "Wed, 09 Jun 2027 10:18:14 GMT"), ("Date", "Wed, 09 Jun 2027 10:18:14 GMT")],
    [("ETag", "\"v1\""), ("Content-Encoding", "identity")],
  ])
  func `A download restarts without a validator`(headers: [(String, String)]) async throws {
    let ranges = Recorder<String>()
    let server = try serve { request in
      ranges.record(request.header("Range") ?? "-")
      let reply = Reply(headers: headers.map { (name: $0.0, value: $0.1) }, body: Self.content)
      return ranges.elements.count == 1 ? reply.closing(after: 100_000) : reply
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      try await Self.breakOff(server, file)
      _ = try await HTTP.download(server.url("/file"), to: file)
      try Self.expectWhole(file)
      #expect(ranges.elements == ["-", "-"])
    }
  }

  @Test func `A modification date is a sufficient validator`() async throws {
    let (changed, ranges) = ("Wed, 09 Jun 2027 10:18:13 GMT", Recorder<String>())
    let server = try serve { request in
      ranges.record(request.header("If-Range") ?? "-")
      var reply = Self.reply(to: request, tag: request.header("If-Range") ?? "\"x\"")
      reply.headers.removeAll { $0.name == "ETag" }
      reply.headers += [("Last-Modified", changed), ("Date", "Wed, 09 Jun 2027 10:18:14 GMT")]
      return ranges.elements.count == 1 ? reply.closing(after: 100_000) : reply
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      try await Self.breakOff(server, file)
      #expect(try await HTTP.download(server.url("/file"), to: file).status == 206)
      try Self.expectWhole(file)
      #expect(ranges.elements == ["-", changed])
    }
  }

  @Test func `A download restarts for another URL or a part that is too long`() async throws {
    let server = try serve {
      Self.reply(to: $0, breaking: $0.header("Range") == nil && $0.path == "/break" ? 100_000 : nil)
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      await #expect(throws: HTTPError.self) { try await HTTP.download(server.url("/break"), to: file) }
      // The tag is that of another URL: it is not used for this one.
      #expect(try await HTTP.download(server.url("/file"), to: file).status == 200)
      await #expect(throws: HTTPError.self) { try await HTTP.download(server.url("/break"), to: file) }
      try Data(count: 300_001).write(to: URL(filePath: file.path + ".part"))
      await #expect(throws: HTTPError.self) { try await HTTP.download(server.url("/break"), to: file) }
      // The last one requested the rest, which is not there, and then all of it.
      #expect(server.requestCount == 5)
      #expect(try Data(contentsOf: URL(filePath: file.path + ".part")) == Data(Self.content.prefix(100_000)))
    }
  }
}
