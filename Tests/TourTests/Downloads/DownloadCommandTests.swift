// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseFiles
import Testing

@testable import Tour

/// The options of the downloader, as a program.
@Suite(.timeLimit(.minutes(10))) struct DownloadCommandTests {
  private static let bytes = DownloadSceneTests.bytes

  private static func serve() throws -> LoopbackServer {
    try LoopbackServer { request in
      switch request.path {
      case "/private" where request.header("Authorization") != "Basic dXNlcjpwYXNz": .text("no", status: 401)
      case "/headers": .text("\(request.header("X-One") ?? "-")")
      case "/missing": .notFound
      default: .part(of: bytes, for: request, tag: "\"1\"")
      }
    }
  }

  @Test func logsInAndSendsHeaders() async throws {
    let (server, workshop) = (try Self.serve(), try Workshop())
    let url = "\(server.address)/private"
    let refused = try await TourProcess.run(["download", url], in: workshop.directory)
    #expect(refused.exitCode == 1 && server.requestCount == 1)
    #expect(try workshop.names == [])
    let allowed = try await TourProcess.run(["download", url, "-u", "user:pass"], in: workshop.directory)
    #expect(allowed.exitCode == 0, "\(allowed.error)")
    let headers = ["download", "\(server.address)/headers", "-H", "X-One: s3cr3t", "-o", "-"]
    let sent = try await TourProcess.run(headers, in: workshop.directory)
    #expect(sent.output == "s3cr3t" && !sent.error.contains("s3cr3t"))
    #expect(try workshop.names == ["private"])
  }

  @Test(arguments: [[], ["-q"]]) func writesToStandardOutput(options: [String]) async throws {
    let (server, workshop) = (try Self.serve(), try Workshop())
    let digest = SHA256.hex(Self.bytes)
    let arguments = ["download", "\(server.address)/a.bin", "-o", "-", "--sha256", digest] + options
    let result = try await TourProcess.run(arguments, in: workshop.directory)
    #expect(result.exitCode == 0 && result.outputBytes == Self.bytes)
    #expect(result.error == (options.isEmpty ? "-: 400000 bytes\n" : ""))
    #expect(try workshop.names == [])
    let wrong = ["download", "\(server.address)/a.bin", "-o", "-", "--sha256", String(repeating: "0", count: 64)]
    #expect(try await TourProcess.run(wrong, in: workshop.directory).exitCode == 1)
  }

  @Test func savesTheFilesOfAListInAFolder() async throws {
    let (server, workshop) = (try Self.serve(), try Workshop())
    let list = (1...31).map { "\(server.address)/\($0).bin" }.joined(separator: "\n")
    try workshop.write(Array(list.utf8), to: "list")
    let arguments = ["download", "-i", "list", "-P", "new/folder", "-q"]
    let result = try await TourProcess.run(arguments, in: workshop.directory)
    #expect(result.exitCode == 0 && result.output == "" && result.error == "")
    let folder = workshop.directory.appending(path: "new/folder").path
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(Set(names) == Set((1...31).map { "\($0).bin" }))
  }

  @Test func aFolderInWhichNothingWasSavedIsNotLeft() async throws {
    let (server, workshop) = (try Self.serve(), try Workshop())
    let arguments = ["download", "\(server.address)/missing", "-P", "new/folder"]
    #expect(try await TourProcess.run(arguments, in: workshop.directory).exitCode == 1)
    #expect(try workshop.names == [])
    try FileManager.default.createDirectory(
      at: workshop.directory.appending(path: "old"),
      withIntermediateDirectories: false
    )
    let other = ["download", "\(server.address)/missing", "-P", "old"]
    #expect(try await TourProcess.run(other, in: workshop.directory).exitCode == 1)
    #expect(try workshop.names == ["old"])
  }

  @Test func aWrongChecksumDoesNotTouchTheFile() async throws {
    let (server, workshop) = (try Self.serve(), try Workshop())
    try workshop.write([1, 2, 3], to: "a.bin")
    let arguments = ["download", "\(server.address)/a.bin", "--sha256", String(repeating: "0", count: 64)]
    let result = try await TourProcess.run(arguments, in: workshop.directory)
    #expect(result.exitCode == 1 && result.error.contains("its SHA-256 is \(SHA256.hex(Self.bytes))"))
    #expect(try workshop.bytes(of: "a.bin") == [1, 2, 3])
    #expect(try workshop.names == ["a.bin"])
  }

  @Test func anUnknownHostEndsAtOnce() async throws {
    let workshop = try Workshop()
    let arguments = ["download", "http://no.such.host.invalid/a", "--timeout", "300"]
    let result = try await TourProcess.run(arguments, in: workshop.directory)
    #expect(result.exitCode == 1 && !result.error.contains("waits:"), "\(result.error)")
    #expect(try workshop.names == [])
  }

  @Test func aServerThatSpeaksNoTLSEndsAtOnce() async throws {
    let (listener, workshop) = (try Socket.listening(), try Workshop())
    let port = try listener.localPort()
    Thread.detachNewThread {
      defer { listener.close() }
      // Accepting does not wait, and the program takes a while to begin.
      var wanted = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
      _ = poll(&wanted, 1, 300_000)
      guard let connection = listener.accept() else { return }
      _ = connection.receive()
      _ = connection.send(Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".utf8)[...])
      connection.close()
    }
    let arguments = ["download", "https://127.0.0.1:\(port)/a", "--timeout", "300"]
    let result = try await TourProcess.run(arguments, in: workshop.directory)
    #expect(result.exitCode == 1 && !result.error.contains("waits:"), "\(result.error)")
  }

  @Test func segmentsAndARateLimitSaveTheSameFile() async throws {
    let (server, workshop) = (try Self.serve(), try Workshop())
    let arguments = ["download", "\(server.address)/a.bin", "--segments", "4", "--limit-rate", "2M"]
    let result = try await TourProcess.run(arguments, in: workshop.directory)
    #expect(result.exitCode == 0, "\(result.error)")
    #expect(try workshop.bytes(of: "a.bin") == Self.bytes)
  }
}
