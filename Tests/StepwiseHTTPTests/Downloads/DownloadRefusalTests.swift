// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// Responses and requests that make no file.
@Suite(.timeLimit(.minutes(5))) struct DownloadRefusalTests {
  @Test(arguments: [404, 503, 302]) func `An error status leaves the file unchanged`(status: Int) async throws {
    let count = Recorder<Bool>()
    let server = try serve { request in
      count.record(true)
      switch count.elements.count {
      case 1: return DownloadTests.reply(to: request, breaking: 100_000)
      case 2: return Reply(status: status, headers: [("Retry-After", "7")], body: Array("why".utf8))
      default: return DownloadTests.reply(to: request)
      }
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      try await DownloadTests.breakOff(server, file)
      let response = try await HTTP.download(server.url("/file"), to: file)
      #expect(response.status == status)
      #expect(response.retryAfter() == .seconds(7))
      if status != 302 { #expect(response.body == Data("why".utf8)) }
      #expect(!FileManager.default.fileExists(atPath: file.path))
      #expect(try await HTTP.download(server.url("/file"), to: file).status == 206)
      try DownloadTests.expectWhole(file)
    }
  }

  @Test(arguments: ["bytes 0-299999/300000", "bytes 99999-299999/300000", "bytes x", "items 100000-299999/300000"])
  func `A wrong range is an error`(range: String) async throws {
    let count = Recorder<Bool>()
    let server = try serve { request in
      count.record(true)
      if count.elements.count == 1 { return DownloadTests.reply(to: request, breaking: 100_000) }
      return Reply(status: 206, headers: [("Content-Range", range)], body: DownloadTests.content)
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      try await DownloadTests.breakOff(server, file)
      try await DownloadTests.breakOff(server, file, with: .protocolError(reason: ""))
      #expect(try Data(contentsOf: URL(filePath: file.path + ".part")) == Data(DownloadTests.content.prefix(100_000)))
    }
  }

  /// The whole is as long as the range says, whatever the answer with it is long.
  @Test func `A range that is too short is an error`() async throws {
    let count = Recorder<Bool>()
    let server = try serve { request in
      count.record(true)
      var reply = DownloadTests.reply(to: request)
      if count.elements.count == 1 { return reply.closing(after: 100_000) }
      if count.elements.count == 2 { reply.body.removeLast(1_000) }
      return reply
    }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      try await DownloadTests.breakOff(server, file)
      try await DownloadTests.breakOff(server, file)
      #expect(try await HTTP.download(server.url("/file"), to: file).status == 206)
      try DownloadTests.expectWhole(file)
    }
  }

  @Test func `A second download of one file is refused`() async throws {
    let (server, gate) = (try serve { DownloadTests.reply(to: $0) }, DispatchSemaphore(value: 0))
    try await inFolder { folder in
      let (url, file, entered) = (try server.url(), folder.appendingPathComponent("file"), Recorder<Bool>())
      let first = Task {
        try await HTTP.download(url, to: file) { _ in
          entered.record(true)
          gate.wait()
        }
      }
      await entered.elements(atLeast: 1)
      await #expect(throws: HTTPError.refused(reason: "")) { try await HTTP.download(url, to: file) }
      for _ in 0..<1_000 { gate.signal() }
      #expect(try await first.value.status == 200)
      try DownloadTests.expectWhole(file)
      #expect(try await HTTP.download(url, to: file).status == 200)
    }
  }

  /// A process that another thread starts shares the descriptors, and their locks, until it executes its program.
  @Test func `A closed download is unlocked while a process starts`() async throws {
    try await inFolder { folder in
      let path = folder.appendingPathComponent("file").path
      var file: PartialFile? = try PartialFile(path)
      let shared = dup(try #require(descriptor(of: path + ".part")))
      defer { close(shared) }
      #expect(throws: HTTPError.refused(reason: "")) { _ = try PartialFile(path) }
      file = nil
      file = try PartialFile(path)
      let size = file?.size
      #expect(size == 0)
    }
  }

  /// The descriptor with which this process has opened a file.
  private func descriptor(of path: String) -> Int32? {
    (0..<getdtablesize()).first { descriptor in
      var (opened, named) = (stat(), stat())
      guard fstat(descriptor, &opened) == 0, stat(path, &named) == 0 else { return false }
      return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }
  }

  @Test func `Unsupported downloads are refused`() async throws {
    let url = try #require(URL(string: "http://127.0.0.1:9/"))
    await #expect(throws: HTTPError.refused(reason: "")) { try await HTTP.download(url, to: url) }
    await #expect(throws: HTTPError.refused(reason: "")) {
      try await HTTP.download(url, to: URL(filePath: "/nowhere/file"), headers: ["Range": "bytes=1-"])
    }
    await #expect(throws: HTTPError.request(underlyingError: CancellationError())) {
      try await HTTP.download(url, to: URL(filePath: "/nowhere/at/all"))
    }
  }
}
