// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux)
  import Foundation
  import Loopback
  import Testing

  @testable import StepwiseHTTP

  /// Requests through a proxy, of the environment and in code.
  @Suite(.timeLimit(.minutes(5)), .serialized) struct ProxyTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nproxy"

    private static func proxy(_ server: RawServer, _ credentials: String = "") throws -> URL {
      try #require(URL(string: "http://\(credentials)127.0.0.1:\(server.port)"))
    }

    @Test func `A configured proxy receives requests and credentials`()
      async throws
    {
      let proxy = try RawServer(Self.answer, end: .hold)
      let direct = try serve { _ in .text("direct") }
      let url = try Self.proxy(proxy, "ann:s%20cret@")
      let session = HTTPSession(proxy: .server(url, bypassing: ["localhost", "internal.example"]))
      let away = try #require(URL(string: "http://away.example/a?b=1"))
      #expect(try await HTTPClient(baseURL: away, session: session).get().text == "proxy")
      let head = try #require(proxy.requests.first)
      #expect(head.hasPrefix("GET http://away.example/a?b=1 HTTP/1.1\r\n"))
      #expect(head.contains("Proxy-Authorization: Basic " + Data("ann:s cret".utf8).base64EncodedString()))
      // Not the address, which the environment of the tests excludes from proxies.
      let local = try #require(URL(string: direct.address.replacing("127.0.0.1", with: "localhost")))
      #expect(try await HTTPClient(baseURL: local, session: session).get().text == "direct")
      #expect(proxy.requests.count == 1)
    }

    /// libcurl does without a proxy whose credentials it cannot decode.
    @Test(arguments: ["ann:s%09cret@", "an%0An:secret@", "ann:%00@"])
    func `A proxy is never bypassed because of its credentials`(credentials: String) async throws {
      let proxy = try RawServer(Self.answer, end: .hold)
      let direct = try serve { _ in .text("direct") }
      let session = HTTPSession(proxy: .server(try Self.proxy(proxy, credentials)))
      let local = try #require(URL(string: direct.address.replacing("127.0.0.1", with: "localhost")))
      await #expect(throws: HTTPError.refused(reason: "")) {
        try await HTTPClient(baseURL: local, session: session).get()
      }
      #expect(direct.requestCount == 0)
    }

    @Test func `Any other character of a proxy's credentials is sent`() async throws {
      let proxy = try RawServer(Self.answer, end: .hold)
      let session = HTTPSession(proxy: .server(try Self.proxy(proxy, "a%40n%2541:p%3A%2F%25%C3%BC%3B%20x@")))
      let away = try #require(URL(string: "http://away.example/"))
      for _ in 0..<2 {
        #expect(try await HTTPClient(baseURL: away, session: session).get().text == "proxy")
        let code = Data("a@n%41:p:/%ü; x".utf8).base64EncodedString()
        #expect(proxy.requests.last?.contains("Proxy-Authorization: Basic \(code)\r\n") == true, "\(proxy.requests)")
      }
    }

    @Test func `The environment's proxies apply unless the session sets one`()
      async throws
    {
      let proxy = try RawServer(Self.answer, end: .hold)
      let other = try RawServer(Self.answer.replacing("proxy", with: "other"), end: .hold)
      await #expect(processExitsWith: .success) { [own = proxy.port as UInt16, another = other.port as UInt16] in
        setenv("http_proxy", "http://u:p@127.0.0.1:\(own)", 1)
        setenv("no_proxy", "internal.example", 1)
        let away = try #require(URL(string: "http://away.example/"))
        #expect(try await HTTPClient(baseURL: away, session: HTTPSession()).get().text == "proxy")
        let url = try #require(URL(string: "http://127.0.0.1:\(another)"))
        #expect(try await HTTPClient(baseURL: away, session: HTTPSession(proxy: .server(url))).get().text == "other")
        let direct = HTTPSession(proxy: .none)
        let here = try #require(URL(string: "http://127.0.0.1:\(another)/"))
        #expect(try await HTTPClient(baseURL: here, session: direct).get().text == "other")
        setenv("http_proxy", "http://u:geheim@127.0.0.1:1", 1)
        let error = await #expect(throws: HTTPError.self) {
          try await HTTPClient(baseURL: away, session: HTTPSession()).get()
        }
        let text = "\(String(describing: error)) \(error?.localizedDescription ?? "")"
        #expect(!text.contains("geheim") && !text.contains("127.0.0.1"), "\(text)")
      }
      #expect(proxy.requests.first?.contains("Proxy-Authorization: Basic dTpw") == true)
    }

    @Test
    func `A refused tunnel is an error, a 407 to a plain request a response`() async throws {
      let proxy = try RawServer("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", end: .hold)
      let session = HTTPSession(proxy: .server(try Self.proxy(proxy)))
      let secure = try #require(URL(string: "https://away.example/"))
      let error = await #expect(throws: HTTPError.proxy(reason: "")) {
        try await HTTPClient(baseURL: secure, session: session).get()
      }
      #expect(error?.description.contains("407") == true)
      #expect(proxy.requests.first?.hasPrefix("CONNECT away.example:443 HTTP/1.1\r\n") == true)
      let plain = try #require(URL(string: "http://away.example/"))
      #expect(try await HTTPClient(baseURL: plain, session: session).get().status == 407)
    }
  }
#endif
