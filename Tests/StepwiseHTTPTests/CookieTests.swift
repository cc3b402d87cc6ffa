// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import Testing

@testable import StepwiseHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Cookies: none unless there is a jar, and a request's own header goes before it.
@Suite(.timeLimit(.minutes(5))) struct CookieTests {
  private static func server() throws -> LoopbackServer {
    try serve { request in
      switch request.path {
      case "/set": Reply(headers: [("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2; Path=/")])
      case "/go": Reply(status: 302, headers: [("Location", "/show"), ("Set-Cookie", "c=3; Path=/")])
      default: .text((request.header("cookie") ?? "-").split(separator: "; ").sorted().joined(separator: "; "))
      }
    }
  }

  private static func show(_ client: HTTPClient, _ path: String = "show", _ headers: HTTPHeaders = [:]) async throws
    -> String
  {
    String(decoding: try await client.get(path, headers: headers).body, as: UTF8.self)
  }

  @Test func `Without a jar no cookies are stored`() async throws {
    let client = HTTPClient(baseURL: try Self.server().url())
    let server = try Self.server()
    let other = HTTPClient(baseURL: try server.url())
    _ = try await other.get("set")
    #expect(try await Self.show(other) == "-")
    #expect(try await Self.show(other, "show", ["Cookie": "own=1"]) == "own=1")
    _ = client
  }

  @Test func `A jar stores cookies, also over redirects`() async throws {
    let server = try Self.server()
    let jar = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
    let client = HTTPClient(baseURL: try server.url(), session: HTTPSession(cookies: jar))
    _ = try await client.get("set")
    #expect(try await Self.show(client) == "a=1; b=2")
    #expect(try await Self.show(client, "go") == "a=1; b=2; c=3")
  }

  /// The jar on Linux looks at the host alone.
  @Test(
    arguments: [
      ("http://h/", "Path=/", true), ("http://h/", "Path=/; Secure", false), ("https://h/", "Path=/; Secure", true),
      ("http://h/", "Path=/private", false), ("http://h/private", "Path=/private", true),
      ("http://h/private/x", "Path=/private", true), ("http://h/private/x", "Path=/private/", true),
      ("http://h/privateer", "Path=/private", false),
      ("http://h/", "Path=/; Expires=Wed, 09 Jun 2027 10:18:14 GMT", true),
      ("http://h/", "Path=/; Expires=Wed, 09 Jun 1999 10:18:14 GMT", false),
    ]
  ) func `Cookies are sent only where they belong`(address: String, attributes: String, isSent: Bool) throws {
    let url = try #require(URL(string: address))
    let header = ["Set-Cookie": "a=1; \(attributes)"]
    let cookie = try #require(HTTPCookie.cookies(withResponseHeaderFields: header, for: url).first)
    let now = try #require(HTTPDate.parse("Wed, 09 Jun 2027 10:18:13 GMT"))
    #expect(cookie.maySend(to: url, at: now) == isSent)
  }

  /// A jar knows hosts and no ports: what it has may be of the origin that redirects.
  @Test func `A jar is not opened for another port of the host`() async throws {
    let other = try Self.server()
    let target = other.address + "/show"
    let server = try serve { request in
      Reply(status: 302, headers: [("Location", target), ("Set-Cookie", "d=4; Path=/")])
    }
    let jar = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
    let client = HTTPClient(baseURL: try server.url(), session: HTTPSession(cookies: jar))
    #expect(try await Self.show(client) == "-")
    #expect(jar.cookies?.map(\.name) == ["d"])
  }

  /// URLSession on Linux replaces an explicit header by what is in the jar.
  @Test func `A request's own header overrides the jar`() async throws {
    let server = try Self.server()
    let jar = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
    let client = HTTPClient(baseURL: try server.url(), session: HTTPSession(cookies: jar))
    _ = try await client.get("set")
    #expect(try await Self.show(client, "show", ["Cookie": "own=1"]) == "own=1")
  }

  /// Foundation on Linux ignores it.
  @Test(
    arguments: [
      ("Max-Age=1", 1), ("max-age=0", 0), ("Max-Age=-5", 0), ("Max-Age = 60", 60),
      ("Expires=Wed, 09 Jun 1999 10:18:14 GMT; Max-Age=60", 60), ("Max-Age=5; Max-Age=7", 7),
      ("Max-Age=99999999999999999999", 3_153_600_000), ("Max-Age=soon", nil), ("Max-Age=", nil), ("Path=/", nil),
    ] as [(String, TimeInterval?)]
  ) func `Max-Age ends a cookie, and goes before Expires`(attributes: String, lifetime: TimeInterval?) throws {
    let (url, now) = (
      try #require(URL(string: "http://h/")), try #require(HTTPDate.parse("Wed, 09 Jun 2027 10:18:13 GMT"))
    )
    let cookie = try #require(HTTPCookie.received("a=1; \(attributes)", from: url, at: now))
    switch lifetime {
    case nil: #expect(cookie.expiresDate == nil)
    case 0?: #expect(try #require(cookie.expiresDate) < now)
    case let seconds?: #expect(cookie.expiresDate == now.addingTimeInterval(seconds))
    }
  }

  @Test(arguments: ["user=ann, admin=1; Path=/", "session=abc=,def=; Path=/", "prefs=\"a, b=c\"; Path=/"])
  func `A line is one cookie, whatever commas it has`(line: String) async throws {
    let sent = Lock<String?>(nil)
    let transport = ScriptedTransport { request in
      sent.withLock { $0 = request.headers["Cookie"] }
      return HTTPResponseHead(status: 200, headers: ["Set-Cookie": line])
    }
    let jar = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
    let url = try #require(URL(string: "http://a.example/"))
    let client = HTTPClient(baseURL: url, session: HTTPSession(transport: transport, cookies: jar))
    _ = try await client.get("a")
    _ = try await client.get("b")
    #expect(sent.withLock { $0 } == line.components(separatedBy: ";").first)
  }

  @Test func `A response sets fifty cookies, and none once its request has ended`() throws {
    let url = try #require(URL(string: "http://a.example/"))
    var headers = HTTPHeaders()
    for index in 0..<2_500 { headers.add("Set-Cookie", "a\(index)=b; Expires=\(String(repeating: "x", count: 60))") }
    let head = HTTPResponseHead(status: 200, headers: headers)
    let jar = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
    jar.keepCookies(of: head, from: url) { true }
    #expect(jar.cookies?.count == 0)
    jar.keepCookies(of: head, from: url)
    #expect(jar.cookies?.count == 50)
  }

  @Test(arguments: ["a=b\u{7}", "a=b\rX: y", "a=" + String(repeating: "b", count: 4_096)])
  func `A cookie that could not be sent back is not stored`(line: String) throws {
    #expect(HTTPCookie.received(line, from: try #require(URL(string: "http://h/")), at: .now) == nil)
  }

  @Test(
    arguments: [
      ("Wed, 09-Jun-27 10:18:14 GMT", 1_812_536_294), ("Wednesday, 09-Jun-27 10:18:14 GMT", 1_812_536_294),
      ("Wed, 09 Jun 2027 10:18:14 GMT", 1_812_536_294), ("Wed Jun  9 10:18:14 2027", 1_812_536_294),
      ("Sun, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
      ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sat, 01 Mar 1969 00:00:00 GMT", -26_438_400),
      ("Wed, 29 Feb 2023 00:00:00 GMT", nil), ("Wed, 09 Jun 2027 24:00:00 GMT", nil), ("09 Jun 2027", nil),
      ("soon", nil), ("", nil),
    ] as [(String, TimeInterval?)]
  ) func `Dates are read in each format`(text: String, seconds: TimeInterval?) {
    #expect(HTTPDate.parse(text)?.timeIntervalSince1970 == seconds)
  }

  /// URLSession joins the lines of a field.
  @Test(arguments: [
    ("a=1, b=2", ["a=1", "b=2"]), ("a=1,b =2; Path=/,\tc=3", ["a=1", "b=2", "c=3"]), ("a=1,b c=2", ["a=1,b c=2"]),
    ("a=1; Expires=Wed, 09 Jun 2027 10:18:13 GMT, b=2", ["a=1", "b=2"]), ("a=1,2,, b=2", ["a=1,2,", "b=2"]),
    ("a=1,b;c=2", ["a=1,b"]), (", a=1", ["a=1"]), ("", []),
  ])
  func `Joined cookies are separated`(field: String, cookies: [String]) throws {
    let url = try #require(URL(string: "http://h/"))
    let found = HTTPCookie.separated(field).compactMap { HTTPCookie.received($0, from: url, at: .now) }
    #expect(found.map { "\($0.name)=\($0.value)" } == cookies)
  }

  /// A pattern that tries every division of the spaces took half a minute, and no deadline ended that.
  @Test func `Cookies of a hostile server are read in linear time`() throws {
    let (url, start) = (try #require(URL(string: "http://h/")), ContinuousClock.now)
    for run in [" ", "\t ", ",", ", ", "=", "a"] {
      let field = "a=1," + String(repeating: run, count: 20_000) + "x"
      #expect(HTTPCookie.separated(field).compactMap { HTTPCookie.received($0, from: url, at: .now) }.count <= 20_000)
    }
    #expect(ContinuousClock.now - start < .seconds(10))
  }

  @Test func `A cookie with Max-Age=0 leaves the jar`() async throws {
    let server = try serve { request in
      switch request.path {
      case "/set": Reply(headers: [("Set-Cookie", "a=1; Path=/; Max-Age=60"), ("Set-Cookie", "b=2; Path=/")])
      case "/end": Reply(headers: [("Set-Cookie", "a=; Path=/; Max-Age=0")])
      default: .text(request.header("cookie") ?? "-")
      }
    }
    let jar = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
    let client = HTTPClient(baseURL: try server.url(), session: HTTPSession(cookies: jar))
    _ = try await client.get("set")
    #expect(jar.cookies?.count == 2)
    _ = try await client.get("end")
    #expect(try await Self.show(client) == "b=2")
    #expect(jar.cookies?.map(\.name) == ["b"])
  }
}
