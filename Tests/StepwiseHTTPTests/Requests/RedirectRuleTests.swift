// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import StepwiseHTTP

/// Which request follows which redirect.
@Suite(.timeLimit(.minutes(5))) struct RedirectRuleTests {
  private static func request(_ method: String, _ url: String = "http://a.example/x") throws -> HTTPRequest {
    let body = method == "GET" || method == "HEAD" ? nil : Data("body".utf8)
    return try checked(
      method,
      #require(URL(string: url)),
      [:],
      [
        "Authorization": "secret", "Cookie": "a=1", "X-Api-Key": "key", "Accept": "text/plain", "Range": "bytes=1-",
        "Content-Language": "en",
      ],
      body.map { .bytes($0) }
    )
  }

  private static func head(_ status: Int, _ location: String?) -> HTTPResponseHead {
    HTTPResponseHead(status: status, headers: HTTPHeaders(location.map { ["Location": $0] } ?? [:]))
  }

  @Test(arguments: [
    (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (303, "PUT", "GET"), (303, "DELETE", "GET"),
    (303, "HEAD", "HEAD"), (301, "PUT", "PUT"), (302, "DELETE", "DELETE"), (301, "GET", "GET"), (302, "HEAD", "HEAD"),
    (307, "POST", "POST"), (308, "POST", "POST"), (307, "PATCH", "PATCH"), (308, "GET", "GET"),
  ])
  func `A redirect's method and body follow RFC 9110`(status: Int, method: String, follows: String) throws {
    let request = try Self.request(method)
    let next = try #require(request.redirected(by: Self.head(status, "/y")))
    #expect(next.method == follows)
    #expect((next.body == nil) == (method != follows || request.body == nil))
    #expect((next.headers["Content-Type"] == nil) == (next.body == nil))
    #expect(next.headers["Authorization"] == "secret" && next.headers["Cookie"] == "a=1")
  }

  @Test(arguments: [
    ("http://a.example/x", "http://b.example/y"), ("http://a.example/x", "https://a.example/y"),
    ("https://a.example/x", "http://a.example/y"), ("http://a.example/x", "http://a.example:8080/y"),
    ("http://a.example/x", "//b.example/y"), ("http://a.example/x", "http://sub.a.example/y"),
    ("http://a.example/x", "http://user:pass@b.example/y"),
  ])
  func `Credentials stay behind when the origin changes`(from: String, to: String) throws {
    let next = try #require(Self.request("POST", from).redirected(by: Self.head(307, to)))
    for name in ["Authorization", "Cookie", "X-Api-Key"] { #expect(next.headers[name] == nil, "\(name)") }
    #expect(next.headers["Accept"] == "text/plain" && next.headers["Range"] == "bytes=1-")
    guard case .bytes(Data("body".utf8)) = next.body?.content else {
      Issue.record("the body is \(String(describing: next.body))")
      return
    }
    #expect(next.url.user == nil && next.url.password == nil)
    let back = try #require(next.redirected(by: Self.head(307, from)))
    #expect(back.headers["Authorization"] == nil)
  }

  @Test(arguments: [
    ("http://a.example/x", "http://a.example:80/y"), ("https://a.example/x", "https://a.example:443/y"),
    ("http://a.example/x", "HTTP://A.EXAMPLE/y"), ("http://a.example/x", "y"), ("http://a.example/x", "?q"),
  ])
  func `Credentials stay within the origin`(from: String, to: String) throws {
    let next = try #require(Self.request("GET", from).redirected(by: Self.head(302, to)))
    #expect(next.headers["Authorization"] == "secret")
  }

  @Test(
    arguments: [
      (200, "/y"), (300, "/y"), (304, "/y"), (305, "/y"), (302, nil), (302, "ftp://a.example/"), (302, "mailto:x"),
      (302, "http://"),
    ] as [(Int, String?)]
  )
  func `Other responses are returned as they are`(status: Int, location: String?) throws {
    #expect(try Self.request("GET").redirected(by: Self.head(status, location)) == nil)
  }

  /// A jar knows hosts and no ports.
  @Test(arguments: [
    ("/b", true), ("http://example.org:8080/", false), ("https://example.org/", false), ("http://other.org/", true),
  ])
  func `A jar is used for the origin or another host`(location: String, usesJar: Bool) throws {
    let url = try #require(URL(string: "http://example.org/a"))
    let head = HTTPResponseHead(status: 302, headers: ["Location": location])
    let next = try #require(try checked("GET", url).redirected(by: head))
    #expect(next.usesJar == usesJar)
  }
}
