// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The server as URLSession and as bare bytes see it.
@Suite(.timeLimit(.minutes(5))) struct LoopbackServerTests {
  typealias Reply = LoopbackServer.Reply

  private static let body = (0..<200_000).map { index in UInt8(truncatingIfNeeded: index &* 31) }

  @Test func `Routes are served and requests counted`() async throws {
    let server = try LoopbackServer(routes: [
      "/data": { _ in .ok(Self.body) },
      "/echo": { request in .text("\(request.method) \(request.query ?? "-")") },
    ])
    #expect(try await LoopbackClient.fetch(server.address + "/data").body == Self.body)
    #expect(try await LoopbackClient.fetch(server.address + "/echo?a=1").body == Array("GET a=1".utf8))
    #expect(try await LoopbackClient.fetch(server.address + "/nothing").response.statusCode == 404)
    #expect(server.requestCount == 3)
    #expect(server.requestCount(for: "/data") == 1)
    #expect(server.requestCount(for: "/nothing") == 1)
  }

  @Test func `A response is served slowly in chunks`() async throws {
    let reply = Reply.ok(Array(Self.body.prefix(1000))).slowly(chunkSize: 100, pause: .milliseconds(2))
    let server = try LoopbackServer { _ in reply }
    let start = ContinuousClock.now
    #expect(try await LoopbackClient.fetch(server.address).body == reply.body)
    #expect(ContinuousClock.now - start >= .milliseconds(20))
  }

  /// A reply that is no complete answer, without its body in the output of the tests.
  struct Lie: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reply: Reply
  }

  @Test(arguments: [
    Lie(testDescription: "closes early", reply: .ok(body).closing(after: 1000)),
    Lie(testDescription: "resets early", reply: .ok(body).closing(after: 1000, resetting: true)),
    Lie(testDescription: "declares too much", reply: .ok(body).declaring(.claimed(body.count + 1))),
    Lie(testDescription: "is silent", reply: .silent),
  ])
  func `A response ends early or lies about its length`(lie: Lie) async throws {
    let server = try LoopbackServer { _ in lie.reply }
    await #expect(throws: URLError.self) { try await LoopbackClient.fetch(server.address) }
  }

  @Test func `A response claims too small a length`() async throws {
    let server = try LoopbackServer { _ in .ok(Self.body).declaring(.claimed(10)) }
    #expect(try await LoopbackClient.fetch(server.address).body == Array(Self.body.prefix(10)))
  }

  @Test func `A response has no length`() async throws {
    let server = try LoopbackServer { _ in .ok(Self.body).declaring(.absent) }
    let (body, response) = try await LoopbackClient.fetch(server.address)
    #expect(body == Self.body)
    #expect(response.expectedContentLength == -1)
  }

  @Test func `Several requests are served on one connection`() async throws {
    let server = try LoopbackServer { request in
      .text("<\(request.path) \(String(decoding: request.body, as: UTF8.self))>")
    }
    let answer = try #require(
      await LoopbackClient.exchange(
        "POST /a HTTP/1.1\r\ncontent-length: 3\r\n\r\nxyzGET /b HTTP/1.1\r\n\r\nHEAD /c HTTP/1.1\r\nConnection: close\r\n\r\n",
        port: server.port
      )
    )
    #expect(answer.contains("</a xyz>HTTP/1.1 200 \r\n"))
    #expect(answer.contains("</b >HTTP/1.1 200 \r\n"))
    #expect(answer.hasSuffix("Content-Length: 5\r\nConnection: close\r\n\r\n"))
    #expect(server.requestCount == 3)
  }

  @Test(arguments: [
    ("nonsense\r\n\r\n", 400), ("GET / HTTP/1.1\r\nno colon\r\n\r\n", 400), ("\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
    ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
    ("GET /aaa…", 431),
  ])
  func `Bad requests are refused`(request: String, status: Int) async throws {
    let request = request.replacing("…", with: String(repeating: "a", count: 65_531))
    let server = try LoopbackServer { _ in .text("reached") }
    let answer = await LoopbackClient.exchange(request, port: server.port)
    #expect(answer?.hasPrefix("HTTP/1.1 \(status) ") == true)
    #expect(server.requestCount == 0)
  }

  @Test func `A body that awaits 100-continue is requested`() async throws {
    let server = try LoopbackServer { _ in .text("reached") }
    let answer = await LoopbackClient.exchange(
      "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
      port: server.port,
      reading: 5
    )
    #expect(answer == "HTTP/1.1 100 Continue\r\n\r\n")
  }

  @Test func `A disconnected client is noticed`() async throws {
    let (ends, continuation) = AsyncStream.makeStream(of: Bool.self)
    let reply = Reply.ok(Self.body).slowly(chunkSize: 1, pause: .seconds(3600))
      .onEnd { isWhole in continuation.yield(isWhole) }
    let server = try LoopbackServer { _ in reply }
    _ = await LoopbackClient.exchange("GET / HTTP/1.1\r\n\r\n", port: server.port, reading: 1)
    for await isWhole in ends {
      #expect(!isWhole)
      break
    }
    #expect(server.requestCount == 1)
  }

  @Test func `Stopping ends connections, pauses and the port`() async throws {
    let (requested, continuation) = AsyncStream.makeStream(of: Void.self)
    let server = try LoopbackServer { _ in
      continuation.yield()
      return .ok(Self.body).slowly(chunkSize: 1, pause: .seconds(3600))
    }
    async let answer = LoopbackClient.exchange("GET / HTTP/1.1\r\n\r\n", port: server.port)
    async let idle = LoopbackClient.exchange("GET", port: server.port)
    for await _ in requested { break }
    server.stop()
    server.stop()
    // Both connections end instead of waiting for an hour, or for the rest of a request.
    _ = await (answer, idle)
    #expect(await LoopbackClient.exchange("GET / HTTP/1.1\r\n\r\n", port: server.port) == nil)
  }

  @Test func `A released server stops`() async throws {
    var server: LoopbackServer? = try LoopbackServer { _ in .notFound }
    let port = try #require(server?.port)
    #expect(await LoopbackClient.exchange("GET / HTTP/1.0\r\n\r\n", port: port)?.contains("404") == true)
    server = nil
    #expect(await LoopbackClient.exchange("GET / HTTP/1.0\r\n\r\n", port: port) == nil)
  }

  @Test func `Many requests are served at once`() async throws {
    let server = try LoopbackServer { request in .text(request.path) }
    let answers = await withTaskGroup(of: Bool.self) { group in
      for index in 0..<200 {
        group.addTask {
          let answer = await LoopbackClient.exchange("GET /\(index) HTTP/1.0\r\n\r\n", port: server.port)
          return answer?.hasSuffix("\r\n\r\n/\(index)") == true
        }
      }
      return await group.reduce(0) { count, isRight in count + (isRight ? 1 : 0) }
    }
    #expect(answers == 200)
    #expect(server.requestCount == 200)
  }
}
