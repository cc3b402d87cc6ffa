// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyElevate
import Loopback
import StepwiseTesting
import Testing

/// Elevate's specs of `HTTP` and `HTTPClient`, in Swift, each under its own sentence.
@Suite(.timeLimit(.minutes(5)))
struct ElevateHTTPSpecTests {
  private let server: LoopbackServer
  private var url: String { server.address + "/" }

  init() throws {
    withoutProxy
    server = try LoopbackServer { request in
      switch request.path {
      case "/hash": .ok(Array(#"{"user_id":"3","token":"secret"}"#.utf8), contentType: "application/json")
      case "/array": .ok(Array(#"["apple","orange","pear"]"#.utf8), contentType: "application/json")
      case "/vendor": .ok(Array(#"{"a":1}"#.utf8), contentType: "application/vnd.api+json")
      case "/moved": .redirect(to: "/redirected")
      case "/loop": .redirect(to: "/loop")
      default:
        .text(
          "\(request.method) \(request.path)?\(request.query ?? "") [\(request.header("Content-Type") ?? "")] "
            + "[\(request.header("API-Key") ?? "")] [\(request.header("Authorization") ?? "")] "
            + "[\(request.header("Accept") ?? "")] \(String(decoding: request.body, as: UTF8.self))"
        )
      }
    }
  }

  @available(*, deprecated)
  private func text(_ response: Response) -> String { String(decoding: response.rawBody, as: UTF8.self) }

  @available(*, deprecated)
  @Test("Each method synchronously issues an HTTP request of that method")
  func methods() async throws {
    let functions = [HTTP.get, HTTP.post, HTTP.put, HTTP.delete, HTTP.patch, HTTP.options]
    for (function, name) in zip(functions, ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
      #expect(text(try await function(url)).hasPrefix("\(name) /?"))
    }
    #expect(try await HTTP.head(url).statusCode == 200)
    #expect(server.requestCount == 7)
  }

  @available(*, deprecated)
  @Test("Encodes the query string in the caller's order, sends headers, and sends a body")
  func options() async throws {
    let query = try await HTTP.get(url, query: ["z": 1, "b": "hello you", "c": "4.2", "a": "x/y"])
    #expect(text(query).hasPrefix("GET /?z=1&b=hello+you&c=4.2&a=x%2Fy ["))
    #expect(text(try await HTTP.get(url, headers: ["API-Key": "secret"])).contains("[secret]"))
    #expect(text(try await HTTP.post(url, body: Data("hello".utf8))).hasSuffix("hello"))
  }

  @available(*, deprecated)
  @Test("Encodes a JSON dictionary and a JSON array, and sets the Content-Type, in the place of a body")
  func jsonBody() async throws {
    let dictionary = try await HTTP.post(
      url,
      headers: ["Content-Type": "x"],
      body: Data("b".utf8),
      json: ["test": "secret"]
    )
    #expect(text(dictionary).hasPrefix("POST /? [application/json]"))
    #expect(text(dictionary).hasSuffix(#" {"test":"secret"}"#))
    #expect(text(try await HTTP.post(url, json: ["1", "2"])).hasSuffix(#" ["1","2"]"#))
  }

  @available(*, deprecated)
  @Test("Encodes form data in the caller's order, and sets the Content-Type")
  func formBody() async throws {
    let form = text(try await HTTP.post(url, form: ["test": "se cret", "user": ["matt", "ann"]]))
    #expect(form.hasPrefix("POST /? [application/x-www-form-urlencoded]"))
    #expect(form.hasSuffix(" test=se%20cret&user=matt&user=ann"))
  }

  @available(*, deprecated)
  @Test("Accepts credentials of a username alone, and of a password alone")
  func credentials() async throws {
    let name = text(try await HTTP.get(url, credentials: ["username": "ann"]))
    #expect(name.contains("[Basic \(Data("ann:".utf8).base64EncodedString())]"))
    let password = text(try await HTTP.get(url, credentials: ["password": "key"]))
    #expect(password.contains("[Basic \(Data(":key".utf8).base64EncodedString())]"))
  }

  @available(*, deprecated)
  @Test("Returns a response with body, raw body, headers, status and URL, and no error")
  func response() async throws {
    let response = try await HTTP.get(url)
    #expect(response.body as? Data == response.rawBody)
    #expect(response.error == nil)
    #expect(response.headers.keys.contains("Content-Type"))
    #expect(response.statusCode == 200)
    #expect(response.url == url)
  }

  @available(*, deprecated)
  @Test("Decodes JSON automatically; the response behaves like a hash or an array")
  func decodesJSON() async throws {
    let hash = try await HTTP.get(url + "hash")
    #expect(hash.body as? [String: String] == ["user_id": "3", "token": "secret"])
    #expect(hash["user_id"] as? String == "3")
    let array = try await HTTP.get(url + "array")
    #expect(array.length == 3)
    #expect(array[2] as? String == "pear")
  }

  @available(*, deprecated)
  @Test("Leaves a body of another JSON type as it is")
  func vendorType() async throws {
    #expect(try await HTTP.get(url + "vendor").body as? Data == Data(#"{"a":1}"#.utf8))
  }

  @available(*, deprecated)
  @Test("Redirects to the final URL, and raises a RequestError for an infinite loop or a server that is not there")
  func redirects() async throws {
    #expect(try await HTTP.get(url + "moved").url == url + "redirected")
    await #expect(throws: RequestError.self) { try await HTTP.get(url + "loop") }
    let address = url
    server.stop()
    await #expect(throws: RequestError.self) { try await HTTP.get(address) }
  }

  @available(*, deprecated)
  @Test("A client resolves paths against its base, appends the query, and asks for JSON")
  func clientPaths() async throws {
    let client = HTTPClient(url + "v1")
    #expect(
      text(try await client.get("/v1/echo", query: ["q": "help", "page": 2])).hasPrefix("GET /v1/echo?q=help&page=2 ")
    )
    #expect(text(try await client.get("echo")).hasPrefix("GET /echo?"))
    #expect(text(try await HTTPClient(url + "v1/").get("echo")).hasPrefix("GET /v1/echo?"))
    #expect(text(try await client.get("/a b;c")).hasPrefix("GET /a%20b%3Bc?"))
    #expect(text(try await client.get("/")).contains("[application/json]"))
  }

  @available(*, deprecated)
  @Test("A client decodes JSON responses and encodes JSON bodies")
  func clientJSON() async throws {
    let client = HTTPClient(server.address)
    #expect(try await client.get("/hash")["token"] as? String == "secret")
    #expect(text(try await client.post("/x", json: ["a": [1, 2]])).hasSuffix(#" {"a":[1,2]}"#))
  }
}
