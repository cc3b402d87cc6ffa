// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// The requirements of `HTTPTransport`, with every transport.
@Suite(.timeLimit(.minutes(5))) struct TransportConformanceTests {
  private static let everyone = TransportKind.available

  /// Sends a request, and receives the whole response.
  private static func send(
    _ request: HTTPRequest,
    _ transport: any HTTPTransport
  ) async throws -> (head: HTTPResponseHead, body: Data) {
    let transfer = transport.transfer(request)
    let head = try await transfer.head()
    var body = Data()
    while let chunk = try await transfer.chunk() {
      #expect(!chunk.isEmpty)
      body += chunk
    }
    return (head, body)
  }

  private static func respond(_ status: String, _ fields: String = "", _ body: String = "") -> String {
    "HTTP/1.1 \(status)\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  @Test(arguments: everyone)
  func `The method, the URL and the header fields are sent unchanged`(kind: TransportKind) async throws {
    let server = try RawServer(Self.respond("200 OK"), end: .hold)
    var headers: HTTPHeaders = ["X-One": "1", "Accept": "text/plain", "X-Empty": ""]
    headers.add("X-Two", "a b")
    let request = HTTPRequest(method: "REPORT", url: try server.url("/a%20b/c?q=%C3%A4&r"), headers: headers)
    _ = try await Self.send(request, kind.transport())
    let lines = try #require(server.requests.first).components(separatedBy: "\r\n")
    #expect(lines.first == "REPORT /a%20b/c?q=%C3%A4&r HTTP/1.1")
    for line in ["X-One: 1", "Accept: text/plain", "X-Two: a b"] { #expect(lines.contains(line), "\(lines)") }
    #expect(lines.contains { $0.trimmingCharacters(in: .whitespaces) == "X-Empty:" }, "\(lines)")
    let known: Set = ["host", "x-one", "accept", "x-empty", "x-two", "accept-encoding", "user-agent", "connection"]
    let names = Set(lines.dropFirst().map { $0.prefix { $0 != ":" }.lowercased() })
    #expect(names.isSubset(of: known.union(["content-length", "accept-language"])), "\(names)")
  }

  @Test(arguments: TransportDifference.dotSegments.followers)
  func `Dot segments of a path are sent unchanged`(kind: TransportKind) async throws {
    let server = try RawServer(Self.respond("200 OK"), end: .hold)
    _ = try await Self.send(HTTPRequest(url: server.url("/a/../b/./c")), kind.transport())
    #expect(server.requests.first?.hasPrefix("GET /a/../b/./c HTTP/1.1\r\n") == true, "\(server.requests)")
  }

  @Test(arguments: everyone, ["POST", "PUT", "PATCH"])
  func `A request without a body announces a length of 0`(kind: TransportKind, method: String) async throws {
    let server = try RawServer(Self.respond("200 OK"), end: .hold)
    _ = try await Self.send(HTTPRequest(method: method, url: server.url()), kind.transport())
    #expect(server.requests.first?.lowercased().contains("content-length: 0") == true, "\(server.requests)")
  }

  @Test(
    arguments: everyone,
    ["200 OK", "204 No Content", "304 Not Modified", "404 Not Found", "407 Proxy Authentication Required", "503 Busy"]
  )
  func `Every response is returned unchanged`(kind: TransportKind, status: String) async throws {
    let body = status.hasPrefix("204") || status.hasPrefix("304") ? "" : "why"
    let text = body.isEmpty ? "HTTP/1.1 \(status)\r\nX-A: b\r\n\r\n" : Self.respond(status, "X-A: b\r\n", body)
    let server = try RawServer(text, end: .hold)
    let (head, received) = try await Self.send(HTTPRequest(url: server.url()), kind.transport())
    #expect(head.status == Int(status.prefix(3)) && head.headers["x-a"] == "b")
    #expect(received == Data(body.utf8))
  }

  @Test(arguments: everyone, [301, 302, 303, 307, 308])
  func `A redirect is a response, with its location`(kind: TransportKind, status: Int) async throws {
    let server = try RawServer(Self.respond("\(status) Moved", "Location: /b\r\n"), end: .hold)
    let head = try await Self.send(HTTPRequest(url: server.url("/a")), kind.transport()).head
    #expect(head.status == status && head.headers["Location"] == "/b")
    #expect(server.requests.count == 1)
  }

  @Test(arguments: TransportDifference.unauthorized.followers)
  func `A 401 is a response`(kind: TransportKind) async throws {
    let server = try RawServer(Self.respond("401 No", "WWW-Authenticate: Basic realm=\"a\"\r\n", "why"), end: .hold)
    let (head, body) = try await Self.send(HTTPRequest(url: server.url()), kind.transport())
    #expect(head.status == 401 && body == Data("why".utf8))
  }

  @Test(arguments: TransportDifference.separateHeaderLines.followers)
  func `Header lines of one name stay separate`(kind: TransportKind) async throws {
    let server = try RawServer(Self.respond("200 OK", "X-A: 1\r\nX-A: 2, 3\r\n"), end: .hold)
    let head = try await Self.send(HTTPRequest(url: server.url()), kind.transport()).head
    #expect(head.headers.values("X-A") == ["1", "2, 3"])
  }

  @Test(arguments: TransportDifference.trailers.followers)
  func `A body in chunks with a trailer arrives`(kind: TransportKind) async throws {
    let server = try RawServer(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-B\r\n\r\n3\r\nabc\r\n0\r\nX-B: c\r\n\r\n",
      end: .hold
    )
    let (head, body) = try await Self.send(HTTPRequest(url: server.url()), kind.transport())
    #expect(body == Data("abc".utf8) && head.headers["X-B"] == nil)
  }

  @Test(arguments: everyone)
  func `Interim responses are skipped`(kind: TransportKind) async throws {
    let server = try RawServer(
      "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + Self.respond("200 OK", "X-A: b\r\n", "yes"),
      end: .hold
    )
    let (head, body) = try await Self.send(HTTPRequest(url: server.url()), kind.transport())
    #expect(head.status == 200 && head.headers["X-A"] == "b" && body == Data("yes".utf8))
  }

  @Test(arguments: everyone)
  func `The body is decompressed, and the header fields remain`(kind: TransportKind) async throws {
    let bytes = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJ11HIQKIAn6HKCRMAAAA="))
    let server = try RawServer { _ in
      let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bytes.count)\r\n\r\n"
      return RawServer.Answer(Array(head.utf8) + bytes, end: .hold)
    }
    let (head, body) = try await Self.send(HTTPRequest(url: server.url()), kind.transport())
    #expect(body == Data("hello, hello, hello".utf8))
    #expect(head.headers["Content-Encoding"] == "gzip")
    #expect(server.requests.first?.lowercased().contains("accept-encoding:") == true)
  }

  @Test(arguments: everyone)
  func `Nothing is stored: no cookie, and no response`(kind: TransportKind) async throws {
    let fields = "Set-Cookie: a=1; Path=/\r\nCache-Control: max-age=3600\r\nETag: \"a\"\r\n"
    let server = try RawServer(Self.respond("200 OK", fields, "new"), end: .hold)
    let transport = try kind.transport()
    for _ in 0..<2 {
      #expect(try await Self.send(HTTPRequest(url: server.url()), transport).body == Data("new".utf8))
    }
    #expect(server.requests.count == 2)
    let second = try #require(server.requests.last).lowercased()
    #expect(!second.contains("\ncookie:") && !second.contains("if-none-match"), "\(second)")
  }

  @Test(
    arguments: everyone
  )
  func `The head is returned before the body has arrived`(kind: TransportKind) async throws {
    let server = try RawServer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", end: .hold)
    let transport = try kind.transport()
    defer { transport.invalidate() }
    let transfer = try transport.transfer(HTTPRequest(url: server.url()))
    #expect(try await transfer.head().status == 200)
    let chunk = Task { try await transfer.chunk() }
    transfer.cancel()
    transfer.cancel()
    await #expect(throws: CancellationError.self) { try await chunk.value }
    await #expect(throws: CancellationError.self) { try await transfer.chunk() }
  }

  @Test(arguments: everyone)
  func `Cancelling ends the wait for the head`(kind: TransportKind) async throws {
    let (arrived, closed) = (Recorder<Bool>(), Recorder<Bool>())
    let server = try serve { _ in
      arrived.record(true)
      return Reply.text("late").pausing(.seconds(3_600)).onEnd { closed.record($0) }
    }
    let transport = try kind.transport()
    let early = transport.transfer(HTTPRequest(url: try server.url()))
    early.cancel()
    await #expect(throws: CancellationError.self) { try await early.head() }
    let transfer = transport.transfer(HTTPRequest(url: try server.url()))
    let head = Task { try await transfer.head() }
    await arrived.elements(atLeast: 1)
    transfer.cancel()
    await #expect(throws: CancellationError.self) { try await head.value }
    #expect(await closed.elements(atLeast: 1) == [false])
    #expect(server.requestCount == 1)
  }

  @Test(arguments: everyone)
  func `Cancelling after the end changes nothing`(kind: TransportKind) async throws {
    let server = try RawServer(Self.respond("200 OK", "", "abc"), end: .hold)
    let transport = try kind.transport()
    defer { transport.invalidate() }
    let transfer = try transport.transfer(HTTPRequest(url: server.url()))
    _ = try await transfer.head()
    while try await transfer.chunk() != nil {}
    transfer.cancel()
    #expect(try await transfer.chunk() == nil)
  }

  @Test(arguments: everyone)
  func `An invalidated transport completes its transfers only`(kind: TransportKind) async throws {
    let (arrived, gate) = (Recorder<Bool>(), DispatchSemaphore(value: 0))
    let server = try serve { _ in
      arrived.record(true)
      gate.wait()
      return .text("done")
    }
    let (transport, request) = (try kind.transport(), HTTPRequest(url: try server.url()))
    let response = Task { try await Self.send(request, transport) }
    await arrived.elements(atLeast: 1)
    transport.invalidate()
    transport.invalidate()
    await #expect(throws: HTTPError.refused(reason: "")) { try await transport.transfer(request).head() }
    gate.signal()
    #expect(try await response.value.body == Data("done".utf8))
    #expect(server.requestCount == 1)
  }

  @Test(arguments: everyone)
  func `Each broken connection is an error of its kind`(kind: TransportKind) async throws {
    let cases: [(String, HTTPError)] = [
      ("", .connectionLost(reason: "")),
      ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", .connectionLost(reason: "")),
      ("hello\r\n\r\n", .protocolError(reason: "")),
    ]
    for (text, expected) in cases {
      let server = try RawServer(text)
      await #expect(throws: expected, "\(text)") {
        try await Self.send(HTTPRequest(url: server.url()), kind.transport())
      }
    }
    let port = try closedPort()
    await #expect(throws: HTTPError.connectionRefused) {
      try await Self.send(HTTPRequest(url: port), kind.transport())
    }
    let unknown = try #require(URL(string: "http://a.invalid/"))
    let error = await #expect(throws: HTTPError.self) {
      try await Self.send(HTTPRequest(url: unknown), kind.transport())
    }
    #expect(error == .hostNotFound || error == .offline, "\(String(describing: error))")
  }

  @Test(arguments: everyone)
  func `Bytes of a body are reported as they are sent, in order`(kind: TransportKind) async throws {
    let (server, sent) = (try UploadServer(), Recorder<Int64>())
    var request = HTTPRequest(method: "PUT", url: try server.url(), body: .bytes(Data(count: 1_000_000)))
    request.onBytesSent = { sent.record($0) }
    _ = try await Self.send(request, kind.transport())
    #expect(sent.elements.last == 1_000_000 && sent.elements == sent.elements.sorted())
  }
}
