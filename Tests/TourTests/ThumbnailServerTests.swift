// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseTesting
import Testing

@testable import Tour

/// Servers that misbehave, and Ctrl-C, while a picture is fetched.
@Suite(.timeLimit(.minutes(5))) struct ThumbnailServerTests {
  typealias Reply = LoopbackServer.Reply

  private static let picture = (try? SamplePicture.load()) ?? []

  /// A reply that leads to no picture, and what is said about it.
  struct BadReply: Sendable, CustomTestStringConvertible {
    let reply: Reply
    let words: String

    init(_ reply: Reply, _ words: String) {
      self.reply = reply
      self.words = words
    }

    var testDescription: String { words }
  }

  static let badReplies = [
    BadReply(.notFound, "404"),
    BadReply(Reply(status: 404), "404"),
    BadReply(.text("broken", status: 500), "500"),
    BadReply(.silent, "the connection was lost"),
    BadReply(.ok(picture).closing(after: 0), "the connection was lost"),
    BadReply(.ok(picture).closing(after: 10_000), "the connection was lost"),
    BadReply(.ok(picture).closing(after: 10_000, resetting: true), "the connection was lost"),
    BadReply(.ok(picture).closing(after: 10_000).declaring(.absent), "truncated: 10000 of at least 405654"),
    BadReply(.ok(picture).declaring(.claimed(500_000)), "the connection was lost"),
    BadReply(.ok(picture).declaring(.claimed(1000)), "truncated: 1000 of at least 405654"),
    BadReply(.ok(picture).declaring(.claimed(0)), "the file is empty"),
    BadReply(.ok(picture).declaring(.claimed(1_000_000_000_000)), "the connection was lost"),
    BadReply(.ok(picture).declaring(.claimed(-1)), "the response is not valid"),
    BadReply(.redirect(to: "/"), "redirected more than ten times"),
    BadReply(.ok([]), "the file is empty"),
    BadReply(.text("<html>"), "not a BMP picture"),
  ]

  @Test(arguments: badReplies) func `The server's failures are reported`(bad: BadReply) async throws {
    let (reply, words) = (bad.reply, bad.words)
    let server = try LoopbackServer { _ in reply }
    defer { server.stop() }
    let workshop = try Workshop()
    try workshop.write([1, 2, 3], to: "taken.bmp")
    for target in ["out.bmp", "taken.bmp"] {
      let result = try await workshop.thumbnail(server.address, target)
      #expect(result.isOrderly && result.exitCode == 1)
      #expect(result.errorLines.count == 1, "\(result.error)")
      #expect(result.error.contains(words), "\(result.error)")
    }
    #expect(try workshop.names == ["taken.bmp"])
    #expect(try workshop.bytes(of: "taken.bmp") == [1, 2, 3])
  }

  @Test func `A body without end is an error`() async throws {
    let body = [UInt8](repeating: 0, count: 110_000_000)
    let server = try LoopbackServer { _ in .ok(body).declaring(.absent) }
    defer { server.stop() }
    let workshop = try Workshop()
    let result = try await workshop.thumbnail(server.address)
    #expect(result.exitCode == 1)
    #expect(result.error.contains("larger than 100000000 bytes"))
    #expect(try workshop.names == [])
  }

  @Test func `A port without a server is an error`() async throws {
    let server = try LoopbackServer { _ in .notFound }
    server.stop()
    let workshop = try Workshop()
    let result = try await workshop.thumbnail(server.address)
    #expect(result.exitCode == 1)
    #expect(result.error.contains("the host refuses the connection"))
    #expect(try workshop.names == [])
  }

  @Test(arguments: ["out.bmp", "taken.bmp"])
  func `Ctrl-C leaves nothing behind`(target: String) async throws {
    let sent = Recorder<Bool>()
    let server = try LoopbackServer { _ in
      .ok(Self.picture).slowly(chunkSize: 200_000, pause: .seconds(2)).onEnd(sent.record)
    }
    defer { server.stop() }
    let workshop = try Workshop()
    try workshop.write([1, 2, 3], to: "taken.bmp")
    let result = try await workshop.thumbnail(server.address, target) { output in
      // Not the line that comes before the first byte: half of the picture is there, which is an eighth of the work.
      output.contains("\n 1")
    }
    #expect(result.isOrderly && result.exitCode == 130)
    #expect(result.error == "Tour: cancelled: SIGINT\n")
    #expect(try workshop.names == ["taken.bmp"])
    #expect(try workshop.bytes(of: "taken.bmp") == [1, 2, 3])
    #expect(await sent.elements(atLeast: 1) == [false])
  }

  @Test func `Ctrl-C ends the first scene`() async throws {
    let result = try await TourProcess.run([]) { output in output.contains("%  download") }
    #expect(result.isOrderly && result.exitCode == 130)
    #expect(result.error == "Tour: cancelled: SIGINT\n")
    #expect(!result.output.contains("saved"))
  }
}
