// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseFiles
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// Downloads that find something unusual: on the server, in what is there, or in the one who watches.
@Suite(.timeLimit(.minutes(5))) struct DownloadRecoveryTests {
  /// It says nothing of its validators in a 206, either.
  @Test func `A server that ignores If-Range does not mix files`() async throws {
    let changed = DownloadTests.content.map { ~$0 } + [1, 2, 3]
    let ranges = Recorder<String>()
    let server = try serve { request in
      ranges.record(request.header("Range") ?? "-")
      let isFirst = ranges.elements.count == 1
      let content = isFirst ? DownloadTests.content : changed
      var reply = DownloadTests.reply(to: request, content: content, tag: request.header("If-Range") ?? "\"v1\"")
      if reply.status == 206 { reply.headers.removeAll { $0.name == "ETag" } }
      return isFirst ? reply.closing(after: 100_000) : reply
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      try await DownloadTests.breakOff(server, file)
      #expect(try await HTTP.download(server.url("/file"), to: file).status == 200)
      try DownloadTests.expectWhole(file, changed)
      #expect(ranges.elements == ["-", "bytes=100000-", "-"])
    }
  }

  @Test(arguments: ["bytes 0-299999/300000", "bytes 99999-299999/300000", "bytes x"])
  func `A wrong start restarts the download once`(range: String) async throws {
    let ranges = Recorder<String>()
    let server = try serve { request in
      ranges.record(request.header("Range") ?? "-")
      if ranges.elements.count == 1 { return DownloadTests.reply(to: request, breaking: 100_000) }
      guard request.header("Range") != nil else { return DownloadTests.reply(to: request) }
      return Reply(status: 206, headers: [("Content-Range", range)], body: DownloadTests.content)
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      try await DownloadTests.breakOff(server, file)
      #expect(try await HTTP.download(server.url("/file"), to: file).status == 200)
      try DownloadTests.expectWhole(file)
      #expect(ranges.elements == ["-", "bytes=100000-", "-"])
    }
  }

  /// Without the total, only the range says where the rest ends.
  @Test(arguments: [("", 5), ("he", 2), ("hello, wor", 5)])
  func `A rest that is shorter or longer than its range is not complete`(rest: String, written: Int) async throws {
    let isCut = rest != ""
    let server = try RawServer { head in
      let tag = "ETag: \"a\"\r\nConnection: close\r\n"
      guard head.contains("Range: bytes=5-") else {
        return RawServer.Answer("HTTP/1.1 200 OK\r\n\(tag)Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
      }
      return RawServer.Answer("HTTP/1.1 206 OK\r\n\(tag)Content-Range: bytes 5-9/*\r\n\r\n\(isCut ? rest : "hello")")
    }
    try await inFolder { folder in
      let (file, url) = (folder.appendingPathComponent("file"), try server.url())
      await #expect(throws: HTTPError.tooShort) { try await HTTP.download(url, to: file) }
      guard isCut else {
        #expect(try await HTTP.download(url, to: file).status == 206)
        return #expect(try String(contentsOf: file, encoding: .utf8) == "hellohello")
      }
      await #expect(throws: HTTPError.tooShort) { try await HTTP.download(url, to: file) }
      #expect(try Data(contentsOf: URL(filePath: file.path + ".part")).count == 5 + written)
      #expect(!FileManager.default.fileExists(atPath: file.path))
    }
  }

  /// The process was killed between the last byte and the end.
  @Test(arguments: [true, false]) func `A complete part is recognised`(hasChecksum: Bool) async throws {
    let (ranges, progress) = (Recorder<String>(), Recorder<HTTPDownloadProgress>())
    let server = try serve { request in
      ranges.record(request.header("Range") ?? "-")
      return DownloadTests.reply(to: request, breaking: ranges.elements.count == 1 ? 100_000 : nil)
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      try await DownloadTests.breakOff(server, file)
      try Data(DownloadTests.content).write(to: URL(filePath: file.path + ".part"))
      let sha256 = hasChecksum ? checksum(DownloadTests.content) : nil
      let response = try await HTTP.download(server.url("/file"), to: file, sha256: sha256) { progress.record($0) }
      #expect(response.isSuccess && response.status == 206 && response.body.isEmpty)
      try DownloadTests.expectWhole(file)
      #expect(ranges.elements == ["-", "bytes=300000-"])
      let all = HTTPDownloadProgress(receivedBytes: 300_000, totalBytes: 300_000, resumedBytes: 300_000)
      #expect(progress.elements == [all])
    }
  }

  @Test func `A slow progress closure delays the response`() async throws {
    let transport = CountingTransport(chunks: 50)
    let client = HTTPClient(
      baseURL: try #require(URL(string: "http://example.org/")),
      session: HTTPSession(transport: transport)
    )
    try await inFolder { folder in
      let (file, pulled) = (folder.appendingPathComponent("file"), Recorder<Int>())
      _ = try await client.download("", to: file) { progress in
        // What pulled further meanwhile would have had time to.
        for _ in 0..<100 { sched_yield() }
        pulled.record(transport.pulls - Int(progress.receivedBytes / 1_000))
      }
      // The first call precedes the first piece.
      #expect(pulled.elements == Array(repeating: 0, count: 51))
      #expect(try Data(contentsOf: file).count == 50_000)
    }
  }

  /// The closure does not return, and the deadline still ends the wait.
  @Test func `A deadline ends a download whose progress closure hangs`() async throws {
    let (gate, clock) = (DispatchSemaphore(value: 0), ManualClock())
    let server = try serve { DownloadTests.reply(to: $0).stalling(after: 100_000) }
    try await inFolder { folder in
      let (url, file, entered) = (try server.url(), folder.appendingPathComponent("file"), Recorder<Bool>())
      let deadlines = HTTPDeadlines(headers: nil, idle: nil, total: .seconds(10), clock: clock)
      let download = Task {
        try await HTTP.download(url, to: file, deadlines: deadlines) { _ in
          entered.record(true)
          gate.wait()
        }
      }
      await entered.elements(atLeast: 1)
      clock.advance(by: .seconds(10))
      await #expect(throws: HTTPError.timedOut(.total)) { try await download.value }
      for _ in 0..<1_000 { gate.signal() }
    }
  }

  @Test func `A checksum covers the resumed part`() async throws {
    let server = try serve { DownloadTests.reply(to: $0, breaking: $0.header("Range") == nil ? 100_000 : nil) }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      try await DownloadTests.breakOff(server, file)
      let sha256 = checksum(DownloadTests.content).uppercased()
      #expect(try await HTTP.download(server.url("/file"), to: file, sha256: sha256).status == 206)
      try DownloadTests.expectWhole(file)
    }
  }

  @Test func `A wrong checksum leaves the file unchanged`() async throws {
    let server = try serve { DownloadTests.reply(to: $0) }
    try await inFolder { folder in
      let (url, file) = (try server.url(), folder.appendingPathComponent("file"))
      try Data("old".utf8).write(to: file)
      let wrong = String(repeating: "0", count: 64)
      let error = await #expect(throws: HTTPError.self) {
        try await HTTP.download(url, to: file, sha256: wrong)
      }
      guard case .checksumMismatch(wrong, let found) = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(found == checksum(DownloadTests.content))
      try DownloadTests.expectWhole(file, Array("old".utf8))
    }
  }

  @Test func `An invalid checksum is refused`() async throws {
    let url = try #require(URL(string: "http://127.0.0.1:9/"))
    for text in ["", "abc", String(repeating: "x", count: 64)] {
      await #expect(throws: HTTPError.refused(reason: "")) {
        try await HTTP.download(url, to: URL(filePath: "/nowhere/file"), sha256: text)
      }
    }
  }
}

/// The SHA-256 of bytes, by the implementation that downloads do not use here.
func checksum(_ bytes: [UInt8]) -> String { StepwiseFiles.SHA256.hex(bytes) }

/// Sends a body of many pieces, and counts those that were pulled.
private final class CountingTransport: HTTPTransport, HTTPTransfer {
  private let chunks: Int
  private let count = Lock(0)

  init(chunks: Int) { self.chunks = chunks }

  var pulls: Int { count.withLock { $0 } }

  func transfer(_ request: HTTPRequest) -> any HTTPTransfer { self }

  func invalidate() {}

  nonisolated(nonsending) func head() async throws -> HTTPResponseHead { HTTPResponseHead(status: 200) }

  nonisolated(nonsending) func chunk() async throws -> Data? {
    count.withLock { count in
      guard count < chunks else { return nil }
      count += 1
      return Data(count: 1_000)
    }
  }

  func cancel() {}
}
