// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseFiles
import StepwiseHTTP
import Testing

@testable import Tour

/// The downloader, as a program.
@Suite(.timeLimit(.minutes(10))) struct DownloadSceneTests {
  static let bytes = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

  private func serve(_ reply: @escaping @Sendable (LoopbackServer.Request) -> LoopbackServer.Reply) throws
    -> LoopbackServer
  {
    try LoopbackServer { request in reply(request) }
  }

  @Test func `Your own file is saved and nothing else is left`() async throws {
    let server = try serve { .part(of: Self.bytes, for: $0, tag: "\"1\"") }
    let workshop = try Workshop()
    let arguments = ["download", "\(server.address)/a.bin"]
    let result = try await TourProcess.run(arguments, in: workshop.directory)
    #expect(result.exitCode == 0 && result.output == "", "\(result.error)")
    #expect(result.errorLines.last == "a.bin: saved a.bin, 400000 bytes")
    #expect(try workshop.names == ["a.bin"])
    #expect(try workshop.bytes(of: "a.bin") == Self.bytes)
  }

  @Test func `A download outlasts a misbehaving server`() async throws {
    let result = try await TourProcess.run(["download"])
    #expect(result.exitCode == 0, "\(result.output)\(result.error)")
    for name in ["dropped", "busy", "stalled", "misreported"] {
      #expect(result.errorLines.contains { $0.hasPrefix("\(name).bin: saved ") && $0.hasSuffix(", 400000 bytes") })
    }
    #expect(result.errorLines.contains("busy.bin: the server answered 503"))
  }

  @Test func `An invalid URL leaves no file`() async throws {
    let workshop = try Workshop()
    let result = try await TourProcess.run(["download", "ftp://host/a.bin"], in: workshop.directory)
    #expect(result.exitCode == 1)
    #expect(try workshop.names == [])
  }

  @Test(arguments: [404, 403, 410]) func `A refused request is not repeated`(status: Int) async throws {
    let server = try serve { _ in .text("no", status: status) }
    let workshop = try Workshop()
    let result = try await TourProcess.run(["download", "\(server.address)/a.bin"], in: workshop.directory)
    #expect(result.exitCode == 1 && server.requestCount == 1)
    #expect(result.errorLines.last?.contains("answered \(status)") == true)
    #expect(try workshop.names == [])
  }

  @Test func `A whole file is requested of a server without ranges`() async throws {
    let attempts = Lock(0)
    let server = try serve { _ in
      let attempt = attempts.withLock { count in
        count += 1
        return count
      }
      let whole = LoopbackServer.Reply.ok(Self.bytes)
      return attempt == 1 ? whole.closing(after: 100_000) : whole
    }
    let workshop = try Workshop()
    let result = try await TourProcess.run(["download", "\(server.address)/a.bin"], in: workshop.directory)
    #expect(result.exitCode == 0, "\(result.output)")
    #expect(try workshop.bytes(of: "a.bin") == Self.bytes)
  }

  @Test func `A file that has changed is not mixed`() async throws {
    let other = Self.bytes.map { ~$0 }
    let attempts = Lock(0)
    let server = try serve { request in
      let attempt = attempts.withLock { count in
        count += 1
        return count
      }
      guard attempt == 1 else { return .part(of: other, for: request, tag: "\"2\"") }
      return .part(of: Self.bytes, for: request, tag: "\"1\"").closing(after: 150_000)
    }
    let workshop = try Workshop()
    let result = try await TourProcess.run(["download", "\(server.address)/a.bin"], in: workshop.directory)
    #expect(result.exitCode == 0, "\(result.output)")
    #expect(try workshop.bytes(of: "a.bin") == other)
  }

  @Test func `Ctrl-C stops and the same command continues`() async throws {
    let ranges = Lock<[String?]>([])
    let server = try serve { request in
      ranges.withLock { $0.append(request.header("Range")) }
      let reply = LoopbackServer.Reply.part(of: Self.bytes, for: request, tag: "\"1\"")
      return request.header("Range") == nil ? reply.stalling(after: 80_000) : reply
    }
    let workshop = try Workshop()
    let arguments = ["download", "\(server.address)/a.bin"]
    let first = try await TourProcess.run(arguments, in: workshop.directory) { $0.contains("20%") }
    #expect(first.exitCode == 130)
    #expect(first.errorLines.last == "a.bin: stopped; run the same command again to resume")
    let second = try await TourProcess.run(arguments, in: workshop.directory)
    #expect(second.exitCode == 0, "\(second.output)")
    #expect(try workshop.bytes(of: "a.bin") == Self.bytes)
    #expect(try workshop.names == ["a.bin"])
    let requested = ranges.withLock { $0 }
    #expect(requested.count == 2 && requested[0] == nil && requested[1]?.hasPrefix("bytes=") == true, "\(requested)")
  }

  @Test func `A second downloader of the file is refused`() async throws {
    let server = try serve { .part(of: Self.bytes, for: $0, tag: "\"1\"") }
    let workshop = try Workshop()
    let part = FileLocation(workshop.directory.appendingPathComponent("a.bin.part").path)
    let first = try part.open(O_RDWR | O_CREAT)
    let isLocked = try first.lock()
    let arguments = ["download", "\(server.address)/a.bin"]
    let second = try await TourProcess.run(arguments, in: workshop.directory)
    #expect(isLocked && second.exitCode == 1 && server.requestCount == 0)
    #expect(second.errorLines.last?.contains("another download writes to this file") == true, "\(second.error)")
    first.unlock()
    #expect(try await TourProcess.run(arguments, in: workshop.directory).exitCode == 0)
  }

  @Test func `Many files are saved`() async throws {
    let server = try serve { .part(of: Self.bytes, for: $0, tag: "\"1\"") }
    let workshop = try Workshop()
    let addresses = (1...31).map { "\(server.address)/\($0).bin" }
    let result = try await TourProcess.run(["download"] + addresses, in: workshop.directory)
    #expect(result.exitCode == 0 && result.output == "")
    #expect(try Set(workshop.names) == Set((1...31).map { "\($0).bin" }))
  }

  @Test(arguments: [
    ("http://h/a/b.zip?c=d", "b.zip"), ("http://h/", "download"), ("http://h", "download"), ("http://h/..", "download"),
    ("", "download"), ("http://h/a%2Fb", "download"),
  ])
  func `A file name is suggested`(address: String, name: String) {
    #expect(DownloadedFile.suggestedName(for: address) == name)
  }

  #if os(Linux) || os(macOS)
    @Test func `A full disk leaves a file that can be resumed`() async throws {
      let ranges = Lock<[String?]>([])
      let server = try serve { request in
        ranges.withLock { $0.append(request.header("Range")) }
        return .part(of: Self.bytes, for: request, tag: "\"1\"")
      }
      let workshop = try Workshop()
      let arguments = ["download", "\(server.address)/a.bin"]
      let first = try await TourProcess.run(arguments, in: workshop.directory, largestFile: 200)
      #expect(first.exitCode == 1 && first.errorLines.last?.hasPrefix("a.bin: failed: ") == true, "\(first.output)")
      #expect(server.requestCount == 1)
      let second = try await TourProcess.run(arguments, in: workshop.directory)
      #expect(second.exitCode == 0, "\(second.output)")
      #expect(try workshop.bytes(of: "a.bin") == Self.bytes)
      #expect(try workshop.names == ["a.bin"])
      let resumed = ranges.withLock { $0.last ?? nil }
      #expect(resumed?.hasPrefix("bytes=") == true)
    }
  #endif
}
