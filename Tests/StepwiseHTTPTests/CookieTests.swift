// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseHTTP
import Testing

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

  @Test func withoutAJarThereAreNone() async throws {
    let client = HTTPClient(baseURL: try Self.server().url())
    let server = try Self.server()
    let other = HTTPClient(baseURL: try server.url())
    _ = try await other.get("set")
    #expect(try await Self.show(other) == "-")
    #expect(try await Self.show(other, "show", ["Cookie": "own=1"]) == "own=1")
    _ = client
  }

  @Test func aJarKeepsThemAlsoOverRedirects() async throws {
    let server = try Self.server()
    let jar = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
    let client = HTTPClient(baseURL: try server.url(), session: HTTPSession(cookies: jar))
    _ = try await client.get("set")
    #expect(try await Self.show(client) == "a=1; b=2")
    #expect(try await Self.show(client, "go") == "a=1; b=2; c=3")
  }

  /// URLSession on Linux replaces an explicit header by what is in the jar.
  @Test func aRequestsOwnHeaderGoesBeforeTheJar() async throws {
    let server = try Self.server()
    let jar = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
    let client = HTTPClient(baseURL: try server.url(), session: HTTPSession(cookies: jar))
    _ = try await client.get("set")
    #expect(try await Self.show(client, "show", ["Cookie": "own=1"]) == "own=1")
  }
}
