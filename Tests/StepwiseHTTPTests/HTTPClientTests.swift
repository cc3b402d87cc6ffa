// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseHTTP
import StepwiseTesting
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A client: what all of its requests have.
@Suite(.timeLimit(.minutes(5))) struct HTTPClientTests {
  @Test func `A client sends its headers and credentials`() async throws {
    let server = try serve { request in
      let names = ["accept", "x-app", "authorization"]
      return .text(
        "\(request.method) \(request.path) " + names.map { request.header($0) ?? "-" }.joined(separator: "|")
      )
    }
    var client = HTTPClient(baseURL: try server.url("/v1"), headers: ["X-App": "test"])
    func text(_ response: HTTPResponse) -> String { String(decoding: response.body, as: UTF8.self) }
    #expect(try await text(client.get("tracks")) == "GET /v1/tracks application/json|test|-")
    client.setCredentials(user: "u", password: "p")
    #expect(try await text(client.post("/tracks", json: [1])) == "POST /v1/tracks application/json|test|Basic dTpw")
    #expect(
      try await text(client.put("a", headers: ["accept": "*/*", "x-app": "2"], credentials: .bearer("t")))
        == "PUT /v1/a */*|2|Bearer t"
    )
    #expect(
      try await text(client.delete("a", headers: ["Authorization": "own"])) == "DELETE /v1/a application/json|test|own"
    )
    #expect(try await text(client.patch()) == "PATCH /v1 application/json|test|Basic dTpw")
    #expect(try await text(client.options("x")).hasPrefix("OPTIONS /v1/x"))
    #expect(try await client.head("x").status == 200)
  }

  @Test(arguments: [
    ("/v1", "a b/ü", "/v1/a%20b/%C3%BC"), ("/v1/", "/a", "/v1/a"), ("/v1", "", "/v1"), ("", "a", "/a"),
    ("/v1", "a%2Fb", "/v1/a%2Fb"), ("/v1", "100%", "/v1/100%25"), ("/v1", "%zz%4", "/v1/%25zz%254"),
    ("", "%", "/%25"), ("", "%\u{301}41%41\u{301}", "/%25%CC%8141%41%CC%81"),
    ("/v1", "a?b=50%&c=%41", "/v1/a?b=50%25&c=%41&more=3"),
    ("", "%４1", "/%25%EF%BC%941"),
    ("/v1", "//other.example/x", "/v1/other.example/x"),
    ("/v1", "http://other.example/x", "/v1/http://other.example/x"),
    ("/v1", "a?q=1 2", "/v1/a?q=1%202&more=3"), ("/v1?key=k", "a?q=1", "/v1/a?key=k&q=1&more=3"),
    ("/v1?key=k", "a", "/v1/a?key=k&more=3"), ("/v1", "a/../b/./c/", "/v1/b/c/"), ("/v1", "a/%2E%2e/b", "/v1/b"),
    ("/v1", "a/..", "/v1/"), ("/v1", "./a/.", "/v1/a/"), ("/v1", "..a/...", "/v1/..a/..."),
    ("/v1", "a?b=../..", "/v1/a?b=../..&more=3"), ("/v1", "a?b=..%2f..", "/v1/a?b=..%2f..&more=3"),
    ("/v1", "a/b%2F..%2fc", "/v1/a/b%2F..%2fc"), ("/v1", "a%2f..", "/v1/a%2f.."),
    ("/v1", "a;b/..;c", "/v1/a%3Bb/..%3Bc"),
    ("/v1", "..%2Ea%5c", "/v1/..%2Ea%5c"), ("/v1", "%252f..a", "/v1/%252f..a"),
  ])
  func `Paths are below the base URL`(base: String, path: String, target: String) async throws {
    let server = try serve { request in .text(request.path + (request.query.map { "?" + $0 } ?? "")) }
    let client = HTTPClient(baseURL: try server.url(base))
    let response = try await client.get(path, query: target.contains("more") ? ["more": "3"] : [:])
    #expect(String(decoding: response.body, as: UTF8.self) == target)
  }

  /// nginx decodes a path before it resolves it; others also take a backslash for a slash, or drop what follows `;`.
  @Test(
    arguments: [
      "../echo", "/../echo", "a/../../echo", "..", "%2e%2E/echo", "a/b/../../../v1/x", "..%2fecho", "..%2Fecho",
      "%2e%2e%2fecho", "a/..%2f..%2fecho", "a%2f..%2f../echo", "a//..%2f..%2fecho", "%2f..%2fecho", "..%5cecho",
      "..\\echo", "a\\..\\..\\echo", "..%252fecho", "%252e%252e%252fecho", "..;/echo", "..;a=b/echo",
      ".%252e%5cecho", "..%2f", "..%5c..", "a/./..%2f..",
    ]
  )
  func `A path above the base URL is refused`(path: String) async throws {
    let server = try serve { request in .text(request.path) }
    let client = HTTPClient(baseURL: try server.url("/v1"))
    await #expect(throws: HTTPError.refused(reason: "")) { try await client.get(path) }
    #expect(server.requestCount == 0)
  }

  @Test func `Any method can be sent`() async throws {
    let server = try serve { request in .text("\(request.method) \(request.path)") }
    let client = HTTPClient(baseURL: try server.url("/v1"))
    #expect(try await client.method("PROPFIND")("a").text == "PROPFIND /v1/a")
    #expect(try await HTTP.method("purge")(server.url("/b"), body: Data("x".utf8)).text == "purge /b")
    for name in ["", "GET ME", "GET\r\nX: 1", "Ü", "CONNECT", "connect"] {
      await #expect(throws: HTTPError.refused(reason: "")) { try await client.method(name)("a") }
    }
    #expect(server.requestCount == 2)
  }

  @Test func `Encoder and decoder are the client's`() async throws {
    struct Track: Codable, Equatable { var albumTitle: String }
    let server = try serve { request in .ok(request.body) }
    var client = HTTPClient(baseURL: try server.url())
    client.encoder.keyEncodingStrategy = .convertToSnakeCase
    client.decoder.keyDecodingStrategy = .convertFromSnakeCase
    let response = try await client.post(json: Track(albumTitle: "Parade"))
    #expect(response.text == #"{"album_title":"Parade"}"#)
    #expect(try response.decoded(as: Track.self) == Track(albumTitle: "Parade"))
    #expect(throws: DecodingError.self) { try response.decoded(as: Track.self, using: JSONDecoder()) }
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let body = try HTTPBody.json(Track(albumTitle: "Parade"), encoder: encoder)
    #expect(try await HTTP.post(server.url(), body: body).text == response.text)
  }

  @Test func `Each request may have its own deadlines`() async throws {
    let port = try DeadPort()
    let client = HTTPClient(baseURL: try port.url, deadlines: .never)
    let short = HTTPDeadlines(total: .milliseconds(20))
    await #expect(throws: HTTPError.timedOut(.total)) { try await client.get(deadlines: short) }
    await #expect(throws: HTTPError.timedOut(.total)) { try await client.method("QUERY")(deadlines: short) }
    try await inFolder { folder in
      await #expect(throws: HTTPError.timedOut(.total)) {
        try await client.download("", to: folder.appendingPathComponent("file"), deadlines: short)
      }
    }
  }

  @Test func `A client downloads`() async throws {
    let server = try serve { request in .text(request.header("authorization") ?? "-") }
    let client = HTTPClient(baseURL: try server.url(), credentials: .bearer("t"))
    try await inFolder { folder in
      let file = folder.appendingPathComponent("file")
      let status = try await client.download("x", to: file).status
      #expect(status == 200)
      #expect(try String(contentsOf: file, encoding: .utf8) == "Bearer t")
    }
  }

  /// URLSession traps when an invalidated session is used.
  @Test func `An invalidated session of the user does not trap`() async throws {
    let server = try serve { _ in .text("there") }
    let session = URLSession(configuration: .ephemeral)
    session.invalidateAndCancel()
    let client = HTTPClient(baseURL: try server.url(), session: HTTPSession(configuration: session.configuration))
    #expect(try await client.get().status == 200)
  }

  @Test func `An invalidated session refuses requests`() async throws {
    let (requested, gate) = (Recorder<Bool>(), DispatchSemaphore(value: 0))
    let server = try serve { _ in
      requested.record(true)
      gate.wait()
      return .text("slow")
    }
    let session = HTTPSession()
    let client = HTTPClient(baseURL: try server.url(), session: session)
    async let running = client.get()
    await requested.elements(atLeast: 1)
    session.invalidate()
    session.invalidate()
    await #expect(throws: HTTPError.refused(reason: "")) { try await client.get() }
    gate.signal()
    #expect(try await running.status == 200)
  }

  @Test func `A client uses the configuration of its session`() async throws {
    let server = try serve { request in
      request.path == "/"
        ? .redirect(to: "/next") : .text("\(request.header("x-one") ?? "-") \(request.header("cookie") ?? "-")")
    }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = ["X-One": "1"]
    configuration.timeoutIntervalForRequest = 0.001
    let client = HTTPClient(baseURL: try server.url(), session: URLSession(configuration: configuration))
    #expect(String(decoding: try await client.get("x").body, as: UTF8.self) == "1 -")
    #expect(String(decoding: try await client.get().body, as: UTF8.self) == "1 -")
  }
}
