// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux)
  import Foundation
  import Loopback
  import StepwiseTesting
  import Testing

  @testable import StepwiseHTTP

  /// What URLSession on Linux makes of these ends the process, hangs, or is an error; libcurl takes them.
  @Suite(.timeLimit(.minutes(5)), .serialized) struct ForeignServerTests {
    @Test(arguments: ["none", "wrong", "right"])
    func `A 401 that asks for Basic is a response`(credentials: String) async throws {
      let right = "Authorization: Basic " + Data("ann:right".utf8).base64EncodedString()
      let server = try RawServer { head in
        RawServer.Answer(
          head.contains(right)
            ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nin"
            : "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\nContent-Length: 3\r\n\r\nout"
        )
      }
      var client = try TransportKind.libcurl.client(server.url())
      if credentials != "none" { client.credentials = .basic(user: "ann", password: credentials) }
      let response = try await client.get()
      #expect(response.status == (credentials == "right" ? 200 : 401))
      #expect(response.body == Data((credentials == "right" ? "in" : "out").utf8))
      #expect(server.requests.count == 1)
    }

    @Test func `Header lines of one name stay apart, and Latin-1 values arrive`() async throws {
      let text =
        "HTTP/1.1 200 OK\nSet-Cookie: a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT\nSet-Cookie: b=2\nX-Name: caf\u{E9}\n\n"
      let bytes = text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
      let server = try RawServer { _ in RawServer.Answer(bytes) }
      let response = try await TransportKind.libcurl.client(server.url()).get()
      #expect(response.headers.values("Set-Cookie") == ["a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT", "b=2"])
      #expect(response.headers["X-Name"] == "caf\u{E9}")
    }

    @Test func `A 302 without Location keeps its body`() async throws {
      let server = try RawServer("HTTP/1.1 302 Found\r\nContent-Length: 5\r\n\r\nhello")
      let response = try await TransportKind.libcurl.client(server.url()).get()
      #expect(response.status == 302 && response.body == Data("hello".utf8))
    }

    @Test
    func `A thousand cancelled requests end and close their descriptors`() async {
      // In a process of its own, as other tests open descriptors as well.
      await #expect(processExitsWith: .success) {
        let server = try RawServer("", end: .hold)
        let session = HTTPSession(transport: try TransportKind.libcurl.transport(connectionsPerHost: 1_000))
        let client = HTTPClient(baseURL: try server.url(), session: session)
        let before = ForeignServerTests.descriptors
        let tasks = (0..<1_000).map { _ in Task { try await client.get() } }
        #expect(await becomesTrue { server.requests.count == 1_000 })
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        #expect(await becomesTrue { ForeignServerTests.descriptors <= before + 20 })
      }
    }

    /// How many descriptors this process has open.
    private static var descriptors: Int {
      (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }
  }
#endif
