// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import StepwiseHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// httpbin's whole list, except for Digest authentication.
@Suite(.timeLimit(.minutes(5)), .enabled(if: ForeignServers.isAvailable, ForeignServers.absence))
struct HTTPBinTests {
  private struct Echo: Decodable {
    var args: [String: String]?
    var form: [String: String]?
    var files: [String: String]?
    var headers: [String: String]
    var data: String?
    var url: String
  }

  private static func client() throws -> HTTPClient { try ForeignServers.client("httpbin") }

  @Test(arguments: [
    ("html", "text/html", "Herman Melville"), ("robots.txt", "text/plain", "Disallow"),
    ("deny", "text/plain", "HERE"),
    ("xml", "application/xml", "slideshow"), ("json", "application/json", "slideshow"),
    ("encoding/utf8", "text/html", "∮ E⋅da = Q"), ("forms/post", "text/html", "Pizza"),
    ("uuid", "application/json", "-"),
    ("base64/SFRUUEJJTiBpcyBhd2Vzb21l", "text/html", "HTTPBIN is awesome"), ("links/3/0", "text/html", "href"),
    ("ip", "application/json", "127.0.0.1"), ("user-agent", "application/json", "StepwiseHTTP"),
    ("headers", "application/json", "Host"), ("cache", "application/json", "url"),
    ("cache/60", "application/json", "url"),
    ("gzip", "application/json", "\"gzipped\": true"), ("deflate", "application/json", "\"deflated\": true"),
  ]
  )
  func `Pages and formats`(path: String, type: String, text: String) async throws {
    let response = try await Self.client().get(path)
    #expect(response.status == 200 && response.headers["Content-Type"]?.hasPrefix(type) == true)
    #expect(response.text.contains(text))
  }

  @Test(
    arguments: [
      ("image/png", [0x89, 0x50]), ("image/jpeg", [0xFF, 0xD8]), ("image/webp", [0x52, 0x49]),
      ("image/svg", [0x3C]),
    ] as [(String, [UInt8])]
  )
  func `Images`(path: String, magic: [UInt8]) async throws {
    let response = try await Self.client().get(path)
    #expect(response.status == 200 && response.body.starts(with: magic))
  }

  @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE"])
  func `Every method is echoed`(method: String) async throws {
    let client = try Self.client()
    let body = method == "GET" ? nil : Data("text".utf8)
    let content = body.map { HTTPBody.bytes($0) }
    let response = try await client.method(method)(method.lowercased(), query: ["a": "1 ä"], body: content)
    let echo = try response.decoded(as: Echo.self)
    #expect(echo.args == ["a": "1 ä"] && echo.data == body.map { String(decoding: $0, as: UTF8.self) })
    let anything = try await client.method(method)("anything/x", headers: ["X-One": "1"]).decoded(as: Echo.self)
    #expect(anything.headers["X-One"] == "1" && anything.url.hasSuffix("/anything/x"))
  }

  @Test func `JSON, forms, files and sequences arrive`() async throws {
    let client = try Self.client()
    #expect(try await client.post("post", json: ["a": 1]).decoded(as: Echo.self).data == "{\"a\":1}")
    #expect(try await client.post("post", form: ["a": "1 2&"]).decoded(as: Echo.self).form == ["a": "1 2&"])
    var form = HTTPMultipart()
    form.add("title", "Kiß")
    form.add("cover", bytes: Data("bytes".utf8), fileName: "a.txt", type: "text/plain")
    let echo = try await client.post("post", body: .multipart(form)).decoded(as: Echo.self)
    #expect(echo.form == ["title": "Kiß"] && echo.files == ["cover": "bytes"])
    let pieces = AsyncStream<Data> { continuation in
      for text in ["ab", "cd"] { continuation.yield(Data(text.utf8)) }
      continuation.finish()
    }
    let put = try await client.put("put", body: .sequence(pieces, length: 4, type: "text/plain"))
    #expect(try put.decoded(as: Echo.self).data == "abcd")
  }

  @Test(arguments: [
    200, 201, 202, 203, 204, 205, 206, 300, 304, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 413, 418, 429,
    500,
    501, 502, 503, 504, 599,
  ]
  )
  func `Every status is a response`(status: Int) async throws {
    #expect(try await Self.client().get("status/\(status)").status == status)
  }

  @Test(arguments: [
    "redirect/5", "relative-redirect/5", "absolute-redirect/5", "redirect-to?url=/get",
    "redirect-to?url=/get&status_code=308",
    "status/301", "status/302", "status/303", "status/307",
  ]
  )
  func `Redirects of all kinds`(path: String) async throws {
    let client = try Self.client()
    let parts = path.split(separator: "?").map(String.init)
    var query: HTTPParameters = [:]
    if parts.count > 1 {
      query = parts[1].contains("308") ? ["url": "/get", "status_code": "308"] : ["url": "/get"]
    }
    let response = try await client.get(parts[0], query: query)
    #expect(response.status == 200 && response.url.path == "/get")
  }

  @Test func `The eleventh redirect is an error`() async throws {
    await #expect(throws: HTTPError.tooManyRedirects) { try await Self.client().get("redirect/11") }
  }

  @Test func `Credentials, Basic or a token, are right, wrong or missing`()
    async throws
  {
    let client = try Self.client()
    for (path, refusal) in [("basic-auth/ann/right", 401), ("hidden-basic-auth/ann/right", 404)] {
      #expect(try await client.get(path).status == refusal)
      #expect(try await client.get(path, credentials: .basic(user: "ann", password: "wrong")).status == refusal)
      #expect(try await client.get(path, credentials: .basic(user: "ann", password: "right")).status == 200)
    }
    #expect(try await client.get("bearer").status == 401)
    let response = try await client.get("bearer", credentials: .bearer("a.b"))
    #expect(response.status == 200 && response.text.contains("a.b"))
  }

  @Test func `Cookies are stored and deleted by a jar, and not without one`() async throws {
    struct Cookies: Decodable { var cookies: [String: String] }
    let base = try Self.client().baseURL
    let jar = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
    let client = HTTPClient(baseURL: base, session: HTTPSession(cookies: jar))
    #expect(
      try await client.get("cookies/set", query: ["a": "1", "b": "2"]).decoded(as: Cookies.self).cookies == [
        "a": "1", "b": "2",
      ]
    )
    #expect(
      try await client.get("cookies/set/c/3").decoded(as: Cookies.self).cookies == ["a": "1", "b": "2", "c": "3"]
    )
    #expect(
      try await client.get("cookies/delete", query: ["a": ""]).decoded(as: Cookies.self).cookies == [
        "b": "2", "c": "3",
      ]
    )
    #expect(try await Self.client().get("cookies/set/c/3").decoded(as: Cookies.self).cookies.isEmpty)
  }

  @Test func `Bodies that arrive slowly, in chunks and in ranges`() async throws {
    let client = try Self.client()
    var lines = Data()
    for try await chunk in try await client.stream("stream/20").body { lines += chunk }
    #expect(lines.split(separator: UInt8(ascii: "\n")).count == 20)
    #expect(
      try await client.get("drip", query: ["numbytes": "5", "duration": "1", "delay": "0"]).body == Data("*****".utf8)
    )
    #expect(try await client.get("bytes/1000", query: ["seed": "1"]).body.count == 1_000)
    let chunks = try await client.get("stream-bytes/5000", query: ["seed": "1", "chunk_size": "100"])
    #expect(chunks.body.count == 5_000)
    let range = try await client.get("range/26", headers: ["Range": "bytes=2-4"])
    #expect(range.status == 206 && range.text == "cde")
    #expect(try await client.get("delay/1").status == 200)
    await #expect(throws: HTTPError.timedOut(.total)) {
      try await client.get("delay/10", deadlines: HTTPDeadlines(total: .milliseconds(200)))
    }
  }

  @Test func `Headers and tags`() async throws {
    let client = try Self.client()
    let response = try await client.get("response-headers", query: ["X-One": "1", "X-Two": "a b"])
    #expect(response.headers["X-One"] == "1" && response.headers["X-Two"] == "a b")
    #expect(try await client.get("etag/a").headers["ETag"] == "a")
    #expect(try await client.get("etag/a", headers: ["If-None-Match": "\"a\""]).status == 304)
    #expect(try await client.get("etag/a", headers: ["If-Match": "\"b\""]).status == 412)
    #expect(try await client.get("cache", headers: ["If-None-Match": "x"]).status == 304)
    #expect(try await client.head("get").headers["Content-Type"] == "application/json")
    #expect(try await client.options("get").headers["Allow"]?.contains("GET") == true)
    #expect(try await client.get("image", headers: ["Accept": "image/webp"]).headers["Content-Type"] == "image/webp")
  }
}
