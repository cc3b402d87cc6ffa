// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// Downloads and what may be wrong with the place they are written to.
@Suite(.timeLimit(.minutes(5))) struct DownloadDiskTests {
  /// As with a full disk, but for the code: no file may be larger than it is allowed to be.
  @Test func `A full disk leaves a file that can be resumed`() async {
    await #expect(processExitsWith: .success) {
      let server = try serve { DownloadTests.reply(to: $0) }
      let url = try server.url()
      try await inFolder { folder in
        let file = folder.appendingPathComponent("file")
        let whole = try #require(limitFiles(to: 100_000))
        let error = await code { _ = try await HTTP.download(url, to: file) }
        #expect(error == .EFBIG)
        let part = try Data(contentsOf: URL(filePath: file.path + ".part"))
        #expect(part.count <= 100_000)
        _ = limitFiles(to: whole)
        let status = try await HTTP.download(url, to: file).status
        #expect(status == 206)
        let content = try Data(contentsOf: file)
        #expect(content == Data(DownloadTests.content))
      }
    }
  }

  /// Not even the small file has room.
  @Test func `A disk that is full from the start is a system error`() async {
    await #expect(processExitsWith: .success) {
      let server = try serve { DownloadTests.reply(to: $0) }
      let url = try server.url()
      try await inFolder { folder in
        let file = folder.appendingPathComponent("file")
        let whole = try #require(limitFiles(to: 0))
        let error = await code { _ = try await HTTP.download(url, to: file) }
        #expect(error == .EFBIG)
        _ = limitFiles(to: whole)
        let status = try await HTTP.download(url, to: file).status
        #expect(status == 200)
      }
    }
  }

  @Test func `A directory is refused before any request`() async throws {
    let server = try serve { DownloadTests.reply(to: $0) }
    let url = try server.url()
    try await inFolder { folder in
      let place = folder.appendingPathComponent("place")
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      let error = await code { _ = try await HTTP.download(url, to: place) }
      #expect(error == .EISDIR)
      #expect(server.requestCount == 0)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["place"])
    }
  }

  /// A user who may write to a directory cannot make others overwrite files elsewhere.
  @Test(arguments: [".part", ".part.tag"]) func `A symbolic link is not followed`(ending: String) async throws {
    let server = try serve { DownloadTests.reply(to: $0) }
    let url = try server.url()
    try await inFolder { folder in
      let (file, victim) = (folder.appendingPathComponent("file"), folder.appendingPathComponent("victim"))
      try Data("precious".utf8).write(to: victim)
      try FileManager.default.createSymbolicLink(atPath: file.path + ending, withDestinationPath: victim.path)
      let error = await code { _ = try await HTTP.download(url, to: file) }
      #expect(error == (ending == ".part" ? .ELOOP : nil))
      #expect(try Data(contentsOf: victim) == Data("precious".utf8))
    }
  }

  /// The target may be one: it is replaced, as a file is, and what it leads to stays.
  @Test func `A symbolic link is replaced`() async throws {
    let server = try serve { DownloadTests.reply(to: $0) }
    try await inFolder { folder in
      let (file, victim) = (folder.appendingPathComponent("file"), folder.appendingPathComponent("victim"))
      try Data("precious".utf8).write(to: victim)
      try FileManager.default.createSymbolicLink(at: file, withDestinationURL: victim)
      #expect(try await HTTP.download(server.url(), to: file).status == 200)
      #expect(try Data(contentsOf: victim) == Data("precious".utf8))
      #expect(try Data(contentsOf: file) == Data(DownloadTests.content))
    }
  }

  @Test(arguments: [404, 416, 503]) func `An empty download leaves no file`(status: Int) async throws {
    let server = try serve { _ in Reply(status: status, body: Array("why".utf8)) }
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      let response = try await HTTP.download(server.url(), to: file)
      #expect(response.status == status)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      #expect(names == [])
    }
  }

  @Test func `An empty download that cannot be renamed leaves no file`() async throws {
    try await inFolder { folder in
      let place = folder.appendingPathComponent("place")
      let server = try serve { _ in
        try? FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        return Reply(headers: [("ETag", "\"v1\"")])
      }
      let url = try server.url()
      let error = await code { _ = try await HTTP.download(url, to: place) }
      #expect(error == .EISDIR)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["place"])
    }
  }

  /// An owner of a closed download, such as a delegate that is being called, neither writes nor locks.
  @Test func `A closed download releases its file`() async throws {
    try await inFolder { folder in
      let (file, url) = (folder.appendingPathComponent("file"), try #require(URL(string: "http://example.org/")))
      let progress = Recorder<HTTPDownloadProgress>()
      let first = try DownloadFile(of: url, to: file) { progress.record($0) }
      let head = HTTPResponseHead(status: 200, headers: ["ETag": "\"v1\"", "Content-Length": "4"])
      try await first.begin(head, total: 4)
      try await first.write(Data("ab".utf8))
      #expect(throws: HTTPError.refused(reason: "")) { try DownloadFile(of: url, to: file, watcher: nil) }
      first.close()
      let second = try DownloadFile(of: url, to: file, watcher: nil)
      await #expect(throws: CancellationError.self) { try await first.write(Data("xx".utf8)) }
      await #expect(throws: CancellationError.self) { try await first.begin(head, total: 4) }
      #expect(second.request(HTTPRequest(url: url)).headers["Range"] == "bytes=2-")
      #expect(progress.elements.map(\.receivedBytes) == [0, 2])
    }
  }

  /// The same as a user sees it: the first is in the middle of a call that does not return.
  @Test func `A cancelled download holds no lock`() async throws {
    let server = try serve { DownloadTests.reply(to: $0) }
    try await inFolder { folder in
      let (url, file) = (try server.url(), folder.appendingPathComponent("file"))
      let (gate, entered) = (DispatchSemaphore(value: 0), Recorder<Bool>())
      let client = HTTPClient(baseURL: url, session: HTTPSession())
      let first = Task {
        try await client.download("", to: file) { _ in
          entered.record(true)
          gate.wait()
        }
      }
      await entered.elements(atLeast: 1)
      first.cancel()
      await #expect(throws: CancellationError.self) { try await first.value }
      #expect(try await HTTP.download(url, to: file).isSuccess)
      for _ in 0..<1_000 { gate.signal() }
      #expect(try Data(contentsOf: file) == Data(DownloadTests.content))
    }
  }
}

/// The system's code for what a body fails with.
private func code(_ body: () async throws -> Void) async -> POSIXErrorCode? {
  do {
    try await body()
    return nil
  } catch HTTPError.request(let underlying) {
    return (underlying as? POSIXError)?.code
  } catch {
    return nil
  }
}

/// Lets no file of this process become larger; returns what was allowed before.
private func limitFiles(to size: rlim_t) -> rlim_t? {
  signal(SIGXFSZ, SIG_IGN)
  #if canImport(Glibc)
    let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
  #else
    let resource = RLIMIT_FSIZE
  #endif
  var limit = rlimit()
  guard getrlimit(resource, &limit) == 0 else { return nil }
  defer {
    limit.rlim_cur = size
    _ = setrlimit(resource, &limit)
  }
  return limit.rlim_cur
}
