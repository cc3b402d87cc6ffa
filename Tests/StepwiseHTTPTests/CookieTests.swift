// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
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
    let cookie = try #require(HTTPCookie.received("a=1; \(attributes)", from: url, at: now).first)
    switch lifetime {
    case nil: #expect(cookie.expiresDate == nil)
    case 0?: #expect(try #require(cookie.expiresDate) < now)
    case let seconds?: #expect(cookie.expiresDate == now.addingTimeInterval(seconds))
    }
  }

  /// URLSession joins the lines of a field.
  @Test(arguments: [
    ("a=1, b=2", ["a=1", "b=2"]), ("a=1,b =2; Path=/,\tc=3", ["a=1", "b=2", "c=3"]), ("a=1,b c=2", ["a=1,b c=2"]),
    ("a=1; Expires=Wed, 09 Jun 2027 10:18:13 GMT, b=2", ["a=1", "b=2"]), ("a=1,2,, b=2", ["a=1,2,", "b=2"]),
    ("a=1,b;c=2", ["a=1,b"]), (", a=1", ["a=1"]), ("", []),
  ])
  func `Joined cookies are separated`(field: String, cookies: [String]) throws {
    let url = try #require(URL(string: "http://h/"))
    #expect(HTTPCookie.received(field, from: url, at: .now).map { "\($0.name)=\($0.value)" } == cookies)
  }

  /// A pattern that tries every division of the spaces took half a minute, and no deadline ended that.
  @Test func `Cookies of a hostile server are read in linear time`() throws {
    let (url, start) = (try #require(URL(string: "http://h/")), ContinuousClock.now)
    for run in [" ", "\t ", ",", ", ", "=", "a"] {
      let field = "a=1," + String(repeating: run, count: 20_000) + "x"
      #expect(HTTPCookie.received(field, from: url, at: .now).count <= 20_000)
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
