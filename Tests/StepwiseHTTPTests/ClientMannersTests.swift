// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Cookies that a server must not set, and settings of a client.
@Suite(.timeLimit(.minutes(5))) struct ClientMannersTests {
  // MARK: Cookies

  /// The cookie that a client sends to the second URL after the first one has set it.
  private static func cookie(_ field: String, from first: String, to second: String) async throws -> String? {
    let sent = Recorder<String?>()
    let transport = ScriptedTransport { request in
      sent.record(request.headers["Cookie"])
      return HTTPResponseHead(status: 200, headers: ["Set-Cookie": field])
    }
    let jar = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
    let session = HTTPSession(transport: transport, cookies: jar)
    for address in [first, second] {
      _ = try await HTTPClient(baseURL: try #require(URL(string: address)), session: session).get()
    }
    return sent.elements.last ?? nil
  }

  @Test(arguments: [
    ("a=1", "http://a.example.org/", "http://a.example.org/", true),
    ("a=1", "http://example.org/", "http://a.example.org/", false),
    ("a=1; Domain=example.org", "http://a.example.org/", "http://b.example.org/", true),
    ("a=1; Domain=.Example.org", "http://a.example.org/", "http://example.org/", true),
    ("a=1; Domain=other.org", "http://a.example.org/", "http://other.org/", false),
    ("a=1; Domain=b.example.org", "http://a.example.org/", "http://b.example.org/", false),
    ("a=1; Domain=ample.org", "http://example.org/", "http://ample.org/", false),
    ("a=1; Domain=com", "http://a.com/", "http://b.com/", false),
    ("a=1; Domain=co.uk", "http://a.co.uk/", "http://b.co.uk/", false),
    ("a=1; Domain=github.io", "http://a.github.io/", "http://b.github.io/", false),
    ("a=1; Domain=0.0.1", "http://127.0.0.1/", "http://126.0.0.1/", false),
  ]
  )
  func `A cookie is stored for the domain that its host may set`(
    field: String,
    first: String,
    second: String,
    isSent: Bool
  ) async throws {
    #expect(try await Self.cookie(field, from: first, to: second) == (isSent ? "a=1" : nil))
  }

  @Test(arguments: [
    ("__Secure-a=1; Secure", "https", true), ("__Secure-a=1", "https", false),
    ("__Secure-a=1; Secure", "http", false),
    ("__secure-a=1", "https", false), ("__Host-a=1; Secure; Path=/", "https", true),
    ("__Host-a=1; Secure; Path=/", "http", false), ("__Host-a=1; Secure", "https", false),
    ("__Host-a=1; Secure; Path=/; Domain=a.example.org", "https", false), ("__Host-a=1; Path=/", "https", false),
  ]
  )
  func `The prefixes __Host- and __Secure- keep what they promise`(field: String, scheme: String, isSent: Bool)
    async throws
  {
    let found = try await Self.cookie(field, from: "\(scheme)://a.example.org/x", to: "https://a.example.org/x")
    #expect((found != nil) == isSent, "\(String(describing: found))")
  }

  @Test(arguments: [
    ("/a/b", "/a/c", true), ("/a/b", "/a", true), ("/a/b", "/ab", false), ("/a/b", "/", false), ("/a/", "/a/c", true),
    ("/a", "/b", true), ("/", "/b", true), ("/a/b/c?d/e", "/a/b", true), ("/a/b/c", "/a/x", false),
  ]
  )
  func `A cookie without a path is for the folder of the URL that sets it`(first: String, second: String, isSent: Bool)
    async throws
  {
    for attribute in ["", "; Path=", "; Path=relative"] {
      let found = try await Self.cookie(
        "a=1\(attribute)",
        from: "http://h.example\(first)",
        to: "http://h.example\(second)"
      )
      #expect((found != nil) == isSent, "\(attribute)")
    }
  }

  @Test(arguments: [
    "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "Sun, 06-Nov-1994 08:49:37 GMT",
  ]
  )
  func `A date counts in each form that RFC 9110 knows`(date: String) async throws {
    let address = "http://h.example/"
    #expect(try await Self.cookie("a=1; Expires=\(date)", from: address, to: address) == nil)
    let later = date.replacingOccurrences(of: "1994", with: "2094").replacingOccurrences(of: "-94", with: "-44")
    #expect(try await Self.cookie("a=1; Expires=\(later)", from: address, to: address) == "a=1", "\(later)")
  }

  // MARK: Settings

  @Test func `A copy of a client has coders of its own`() async throws {
    struct Track: Codable, Equatable { var albumTitle: String }
    let server = try serve { _ in .text(#"{"albumTitle":"Parade"}"#) }
    var first = HTTPClient(baseURL: try server.url())
    first.decoder.dateDecodingStrategy = .iso8601
    let before = try await first.get()
    var second = first
    second.decoder.keyDecodingStrategy = .convertFromSnakeCase
    second.encoder.keyEncodingStrategy = .convertToSnakeCase
    first.decoder.keyDecodingStrategy = .custom { _ in "none" as NoKey }
    #expect(try before.decoded(as: Track.self) == Track(albumTitle: "Parade"))
    #expect(try await second.get().decoded(as: Track.self) == Track(albumTitle: "Parade"))
    guard case .iso8601 = second.decoder.dateDecodingStrategy else { return #expect(Bool(false)) }
    guard case .useDefaultKeys = first.encoder.keyEncodingStrategy else { return #expect(Bool(false)) }
  }

  @Test func `Several interceptors run in order, the first one outermost`() async throws {
    let calls = Recorder<String>()
    let server = try serve { request in .text(request.header("X-Name") ?? "-") }
    var client = HTTPClient(baseURL: try server.url())
    client.interceptors = ["a", "b"].map { name in
      { request, send in
        calls.record("\(name) before")
        var request = request
        request.headers["X-Name"] = (request.headers["X-Name"] ?? "") + name
        let response = try await send(request)
        calls.record("\(name) after")
        return response
      }
    }
    #expect(try await client.get().text == "ab")
    #expect(calls.elements == ["a before", "b before", "b after", "a after"])
  }

  @Test func `A download refreshes its token, and resumes when it is repeated`() async throws {
    let requests = Recorder<String>()
    let server = try serve { request in
      requests.record("\(request.header("Authorization") ?? "-") \(request.header("Range") ?? "-")")
      guard request.header("Authorization") == "Bearer new" else { return .text("no", status: 401) }
      return DownloadTests.reply(to: request, breaking: request.header("Range") == nil ? 100_000 : nil)
    }
    var client = HTTPClient(baseURL: try server.url(), credentials: .bearer("old"))
    client.retry = HTTPRetry(policy: RetryPolicy(maxAttempts: 3, backoff: .none))
    client.interceptor = { request, send in
      let response = try await send(request)
      guard response.status == 401 else { return response }
      var request = request
      request.headers["Authorization"] = "Bearer new"
      return try await send(request)
    }
    try await inFolder { [client] folder in
      let file = folder.appendingPathComponent("file")
      #expect(try await client.download("file", to: file).status == 206)
      try DownloadTests.expectWhole(file)
    }
    let rest = "bytes=100000-"
    #expect(requests.elements == ["Bearer old -", "Bearer new -", "Bearer old \(rest)", "Bearer new \(rest)"])
  }

  @Test func `A decoding error names the status and the path`() async throws {
    struct Album: Decodable { var tracks: [[String: Int]] }
    let server = try serve { _ in .text(#"{"tracks":[{"a":1},{"b":"x"}]}"#, status: 203) }
    let response = try await HTTPClient(baseURL: try server.url()).get("albums/7", query: ["token": "secret"])
    let error = #expect(throws: DecodingError.self) { try response.decoded(as: Album.self) }
    let text = String(describing: error)
    #expect(text.contains("203") && text.contains("/albums/7") && text.contains("tracks"), "\(text)")
    #expect(!text.contains("secret"))
  }

  // MARK: Downloads

  @Test func `An entity tag with a control character is not sent back`() async throws {
    let head = HTTPResponseHead(status: 200, headers: ["ETag": "\"a\rX-Evil: 1\""])
    let url = try #require(URL(string: "http://h.example/"))
    #expect(DownloadTag(head, from: url) == nil)
  }

  #if os(Linux)
    // MARK: libcurl

    @Test func `The wait for a connection does not count as the time for the headers`() async throws {
      let (clock, entered) = (ManualClock(), Recorder<Bool>())
      let gate = DispatchSemaphore(value: 0)
      let server = try serve { request in
        if request.path == "/first" {
          entered.record(true)
          gate.wait()
        }
        return .text("ok")
      }
      let transport = ObservedTransport(try #require(CurlTransport(connectionsPerHost: 1)))
      let session = HTTPSession(transport: transport)
      let first = HTTPClient(baseURL: try server.url(), session: session)
      let blocking = Task { try await first.get("first").text }
      await entered.elements(atLeast: 1)
      let deadlines = HTTPDeadlines(headers: .seconds(10), idle: nil, clock: clock)
      let second = HTTPClient(baseURL: try server.url(), session: session, deadlines: deadlines)
      let waiting = Task { try await second.get("second").text }
      await clock.sleepers(atLeast: 1)
      // The first one has begun; the second one waits.
      #expect(await transport.waits.elements(atLeast: 2) == [false, true])
      clock.advance(by: .seconds(20))
      gate.signal()
      #expect(try await blocking.value == "ok")
      #expect(try await waiting.value == "ok")
    }

    @Test func `Opening a connection has a deadline`() async throws {
      let port = try FullPort()
      let deadlines = HTTPDeadlines(connect: .milliseconds(50), headers: nil, idle: nil)
      var client = HTTPClient(baseURL: try port.url, session: HTTPSession(), deadlines: deadlines)
      for _ in 0..<2 { await #expect(throws: HTTPError.timedOut(.connect)) { try await client.get() } }
      // A handle that is used again has no limit that it does not have to have.
      client.deadlines = HTTPDeadlines(connect: nil, headers: .milliseconds(300), idle: nil)
      await #expect(throws: HTTPError.timedOut(.headers)) { try await client.get() }
    }

    @Test(arguments: ["http://away.example/", "https://away.example/"])
    func `A proxy that nothing listens for is named`(address: String) async throws {
      let proxy = try closedPort()
      let session = HTTPSession(proxy: .server(proxy))
      let client = HTTPClient(baseURL: try #require(URL(string: address)), session: session)
      await #expect(throws: HTTPError.proxy(reason: "")) { try await client.get() }
      // The same port without a proxy.
      await #expect(throws: HTTPError.connectionRefused) { try await HTTP.get(proxy) }
    }

    @Test func `Without libcurl a request is refused with one clear sentence`() async {
      await #expect(processExitsWith: .success) {
        setenv("STEPWISE_LIBCURL", "/nowhere/libcurl.so", 1)
        let server = try serve { _ in .text("ok") }
        let error = await #expect(throws: HTTPError.refused(reason: "")) { try await HTTP.get(server.url()) }
        #expect(error?.description.contains("libcurl") == true)
        #expect(server.requestCount == 0)
      }
    }
  #endif
}

private struct NoKey: CodingKey, ExpressibleByStringLiteral {
  let stringValue: String
  var intValue: Int? { nil }

  init(stringLiteral value: String) { stringValue = value }
  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
