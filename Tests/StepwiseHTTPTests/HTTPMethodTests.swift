// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseHTTP
import Testing

/// Each method and each kind of answer, against a server.
@Suite(.timeLimit(.minutes(5))) struct HTTPMethodTests {
  typealias Call = @Sendable (URL, HTTPBody?) async throws -> HTTPResponse

  static let calls: [(String, Call)] = [
    ("GET", { url, _ in try await HTTP.get(url) }),
    ("POST", { try await HTTP.post($0, body: $1) }),
    ("PUT", { try await HTTP.put($0, body: $1) }),
    ("DELETE", { try await HTTP.delete($0, body: $1) }),
    ("PATCH", { try await HTTP.patch($0, body: $1) }),
    ("HEAD", { url, _ in try await HTTP.head(url) }),
    ("OPTIONS", { url, _ in try await HTTP.options(url) }),
  ]

  @Test(arguments: 0..<7) func `Each method is sent`(index: Int) async throws {
    let (method, call) = Self.calls[index]
    let server = try serve { request in
      .text("\(request.method) \(request.path) \(String(decoding: request.body, as: UTF8.self))")
    }
    let response = try await call(server.url("/it"), .bytes(Data("body".utf8)))
    #expect(response.status == 200)
    let carries = ["POST", "PUT", "DELETE", "PATCH"].contains(method)
    let expected = method == "HEAD" ? "" : "\(method) /it \(carries ? "body" : "")"
    #expect(String(decoding: response.body, as: UTF8.self) == expected)
    #expect(response.headers["content-TYPE"] == "text/plain; charset=utf-8")
    #expect(try response.url == server.url("/it"))
  }

  @Test(arguments: [200, 201, 204, 206, 304, 400, 401, 404, 429, 500, 503]) func `A status is never an error`(
    status: Int
  )
    async throws
  {
    let server = try serve { _ in Reply(status: status, body: status == 204 || status == 304 ? [] : Array("why".utf8)) }
    let response = try await HTTP.get(server.url())
    #expect(response.status == status)
    #expect(response.isSuccess == (200..<300).contains(status))
    #expect(response.body == (status == 204 || status == 304 ? Data() : Data("why".utf8)))
  }

  @Test func `A redirect without a URL is returned`() async throws {
    let server = try serve { _ in Reply(status: 302) }
    #expect(try await HTTP.get(server.url()).status == 302)
  }

  @Test func `Query, headers and credentials are sent`() async throws {
    let server = try serve { request in
      .text(
        [request.query, request.header("x-one"), request.header("authorization")].map { $0 ?? "-" }.joined(
          separator: "|"
        )
      )
    }
    let response = try await HTTP.get(
      server.address + "/",
      query: ["q": "a b"],
      headers: ["X-One": "1"],
      credentials: .basic(user: "u", password: "p")
    )
    #expect(String(decoding: response.body, as: UTF8.self) == "q=a%20b|1|Basic dTpw")
  }

  @Test func `JSON is sent and decoded`() async throws {
    struct Track: Codable, Equatable {
      var title: String
      var seconds: Int
    }
    let server = try serve { request in .ok(request.body, contentType: request.header("Content-Type") ?? "-") }
    let track = Track(title: "Kiß", seconds: 226)
    let response = try await HTTP.post(server.url(), json: track)
    #expect(try response.decoded(as: Track.self) == track)
    #expect(response.headers["Content-Type"] == "application/json")
    #expect(throws: DecodingError.self) { try response.decoded(as: [Int].self) }
  }

  @Test func `Forms are sent`() async throws {
    let server = try serve { request in .ok(request.body, contentType: request.header("Content-Type") ?? "-") }
    let response = try await HTTP.post(server.url(), form: ["a": "1 2", "b": "&"])
    #expect(response.body == Data("a=1+2&b=%26".utf8))
    #expect(response.headers["Content-Type"] == "application/x-www-form-urlencoded")
  }

  @Test func `A gzip body is decompressed`() async throws {
    // "hello, hello, hello" as gzip makes it.
    let bytes = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJ11HIQKIAn6HKCRMAAAA="))
    let server = try serve { _ in Reply(headers: [("Content-Encoding", "gzip")], body: [UInt8](bytes)) }
    #expect(try await HTTP.get(server.url()).body == Data("hello, hello, hello".utf8))
  }

  @Test func `Chunked bodies are received`() async throws {
    let body = "5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n"
    let server = try serve { _ in
      Reply(headers: [("Transfer-Encoding", "chunked")], body: Array(body.utf8)).slowly(
        chunkSize: 3,
        pause: .milliseconds(1)
      )
      .declaring(.absent)
    }
    #expect(try await HTTP.get(server.url()).body == Data("hello, world".utf8))
  }

  @Test func `Slow headers and slow bodies are awaited`() async throws {
    let server = try serve { _ in
      Reply.text("slow but sure").pausing(.milliseconds(50)).slowly(chunkSize: 1, pause: .milliseconds(2))
    }
    #expect(try await HTTP.get(server.url()).body == Data("slow but sure".utf8))
  }

  @Test func `Large bodies are sent`() async throws {
    let server = try serve { request in .text("\(request.body.count) \(request.body.reduce(0) { $0 &+ Int($1) })") }
    let body = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    let response = try await HTTP.put(server.url(), body: .bytes(body))
    #expect(String(decoding: response.body, as: UTF8.self) == "3000000 \(body.reduce(0) { $0 &+ Int($1) })")
  }

  @Test(arguments: [
    Reply.ok([UInt8](repeating: 1, count: 500)).closing(after: 100),
    Reply.ok([UInt8](repeating: 1, count: 500)).closing(after: 100, resetting: true),
    Reply.ok([1, 2, 3]).declaring(.claimed(4)), .silent,
  ])
  func `A response that breaks off is an error`(reply: Reply) async throws {
    let server = try serve { _ in reply }
    await #expect(throws: HTTPError.connectionLost(reason: "")) { try await HTTP.get(server.url()) }
  }

  /// URLSession on Linux says of it that the address is not supported.
  @Test func `A response that is not HTTP is not blamed on the URL`() async throws {
    let port = try DeadPort()
    let url = try port.url
    let request = Task { try await HTTP.get(url) }
    let connection = try #require(await onThread { port.waitForConnection() })
    _ = await onThread { connection.receive() }
    #expect(connection.send(Array("well\r\n\r\n".utf8)[...]))
    connection.close()
    await #expect(throws: HTTPError.protocolError(reason: "")) { try await request.value }
  }

  @Test func `No more than Content-Length is received`() async throws {
    let server = try serve { _ in Reply.text("0123456789").declaring(.claimed(4)) }
    #expect(try await HTTP.get(server.url()).body == Data("0123".utf8))
  }

  @Test func `A refused connection is an error`() async throws {
    let port = try closedPort()
    await #expect(throws: HTTPError.connectionRefused) { try await HTTP.get(port) }
  }
}
