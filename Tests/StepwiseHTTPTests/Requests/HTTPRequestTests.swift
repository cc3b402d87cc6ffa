// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import StepwiseHTTP

/// What is sent, and what is refused because it would be dropped or altered on the way.
@Suite(.timeLimit(.minutes(5))) struct HTTPRequestTests {
  private static func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  @Test(arguments: [
    "ftp://example.org/", "file:///etc/hosts", "/path", "http:///path", "mailto:a@b", "http://h:70000/", "javascript:1",
  ])
  func `A URL that is not HTTP is refused`(text: String) throws {
    let url = try Self.url(text)
    #expect(throws: HTTPError.invalidURL) { try checked("GET", url) }
  }

  @Test(arguments: ["", "http://a b/", "http://[::1", "not a url", "example.org"])
  func `Text that is no URL is refused`(text: String) async {
    await #expect(throws: HTTPError.invalidURL) { try await HTTP.get(text) }
  }

  @Test(
    arguments: [
      ("http://h/", "http://h/"), ("https://h.example:8443/a/../b?c=%20#d", "https://h.example:8443/a/../b?c=%20"),
      ("http://h", "http://h/"), ("HTTP://h/a", "http://h/a"), ("http://u:p@h:81/a", "http://h:81/a"),
      ("http://h:65535/a?b#", "http://h:65535/a?b"), ("http://H/A", "http://H/A"),
      ("http://[::1]:81/", "http://[::1]:81/"),
      ("http://h:65536/", nil), ("http:///a", nil), ("ftp://h/", nil),
    ] as [(String, String?)]
  )
  func `A URL is sent without its user and fragment`(text: String, expected: String?) throws {
    #expect(try HTTPRequest.address(Self.url(text))?.0.absoluteString == expected)
    let relative = try #require(URL(string: "b#c", relativeTo: Self.url("http://u@h/a/x")))
    #expect(HTTPRequest.address(relative)?.0.absoluteString == "http://h/a/b")
  }

  @Test(arguments: ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\u{0}b", "a\u{7f}"])
  func `A header value with a line break is refused`(value: String) throws {
    let url = try Self.url("http://example.org/")
    #expect(throws: HTTPError.refused(reason: "")) { try checked("GET", url, [:], ["X-Test": value]) }
    #expect(throws: HTTPError.refused(reason: "")) {
      try checked("GET", url, [:], [:], nil, .bearer(value))
    }
  }

  @Test(arguments: ["", "a b", "a:b", "a\r\nb", "ä", "Content-Length", "transfer-encoding", "CONNECTION"])
  func `A header name that would be dropped is refused`(name: String) throws {
    let url = try Self.url("http://example.org/")
    var headers = HTTPHeaders()
    headers.add(name, "1")
    #expect(throws: HTTPError.refused(reason: "")) { try checked("GET", url, [:], headers) }
  }

  @Test(arguments: ["GET", "HEAD"]) func `A body on GET is refused`(method: String) throws {
    let url = try Self.url("http://example.org/")
    #expect(throws: HTTPError.refused(reason: "")) { try checked(method, url, [:], [:], .bytes(Data())) }
  }

  @Test func `Two bodies are refused`() async {
    await #expect(throws: HTTPError.refused(reason: "")) {
      try await HTTP.post("http://127.0.0.1:9/", json: [1], form: ["a": "b"])
    }
    await #expect(throws: HTTPError.refused(reason: "")) {
      try await HTTP.post("http://127.0.0.1:9/", json: [1], body: .bytes(Data()))
    }
  }

  @Test func `A user name with a colon is refused`() {
    #expect(throws: HTTPError.refused(reason: "")) {
      try HTTPCredentials.basic(user: "a:b", password: "").authorization()
    }
  }

  @Test func `Basic credentials are encoded`() throws {
    #expect(
      try HTTPCredentials.basic(user: "Aladdin", password: "open sesame").authorization()
        == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    )
    #expect(try HTTPCredentials.bearer("abc").authorization() == "Bearer abc")
  }

  /// URLSession on Linux knows schemes in lower case only.
  @Test func `Schemes are compared without case`() throws {
    let request = try checked("GET", Self.url("HTTP://example.org/A"))
    #expect(request.url.absoluteString == "http://example.org/A")
  }

  /// URLSession on Linux drops a header whose value is nothing but space.
  @Test func `Spaces around a header value are not sent`() {
    let headers: HTTPHeaders = ["A": " 1 \t", "B": " ", "C": "2 3"]
    #expect(headers.fields.map(\.value) == ["1", "", "2 3"])
  }

  @Test func `A query is added to that of the URL`() throws {
    var query: HTTPParameters = ["q": "a b&c=d+e/ü", "q": "2"]
    query.add("empty", "")
    let request = try checked("GET", Self.url("http://example.org/find?x=%20y#part"), query)
    #expect(
      request.url.absoluteString == "http://example.org/find?x=%20y&q=a%20b%26c%3Dd%2Be%2F%C3%BC&q=2&empty="
    )
  }

  @Test func `Forms are encoded`() throws {
    let form: HTTPParameters = ["name": "a b+c", "x&y": "=ü"]
    #expect(form.form == Data("name=a+b%2Bc&x%26y=%3D%C3%BC".utf8))
    let request = try checked("POST", Self.url("http://example.org"), [:], [:], .form(form))
    #expect(request.headers["content-type"] == "application/x-www-form-urlencoded")
    #expect(request.url.path == "/")
  }

  @Test func `The body has a content type unless one is given`() throws {
    let url = try Self.url("http://example.org/")
    let json = try HTTPBody.json(["a": 1])
    #expect(try checked("POST", url, [:], [:], json).headers["Content-Type"] == "application/json")
    guard case .bytes(let data) = json.content else { return #expect(Bool(false)) }
    #expect(data == Data("{\"a\":1}".utf8))
    let bytes = HTTPBody.bytes(Data([1]))
    #expect(try checked("PUT", url, [:], [:], bytes).headers["Content-Type"] == "application/octet-stream")
    let reported = try checked("PUT", url, [:], ["content-type": "text/csv"], bytes)
    #expect(reported.headers.values("Content-Type") == ["text/csv"])
  }

  @Test func `A name and password in the URL become credentials`() throws {
    let url = try Self.url("http://al%40:se%2Fcret@example.org/x")
    let request = try checked("GET", url)
    #expect(request.url.absoluteString == "http://example.org/x")
    #expect(request.headers["Authorization"] == "Basic " + Data("al@:se/cret".utf8).base64EncodedString())
    let other = try checked("GET", url, [:], [:], nil, .bearer("t"))
    #expect(other.headers["Authorization"] == "Bearer t")
    let own = try checked("GET", url, [:], ["authorization": "mine"])
    #expect(own.headers.values("Authorization") == ["mine"])
  }

  @Test func `Headers are compared without case`() {
    var headers: HTTPHeaders = ["Accept": "a", "X": "1", "accept": "b"]
    #expect(headers["ACCEPT"] == "a, b")
    #expect(headers.values("aCCept") == ["a", "b"])
    headers["ACCEPT"] = "c"
    #expect(headers.fields.map(\.name) == ["ACCEPT", "X"])
    headers["accept"] = nil
    #expect(headers.fields.map(\.name) == ["X"])
    #expect(HTTPHeaders(["b": "2", "a": "1"]).fields.map(\.name) == ["a", "b"])
    #expect(headers.merging(["x": "2", "y": "3"]).fields.map(\.value) == ["2", "3"])
  }
}
