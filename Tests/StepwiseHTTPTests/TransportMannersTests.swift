// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux)
  import Foundation
  import Loopback
  import Stepwise
  import StepwiseTesting
  import Testing

  @testable import StepwiseHTTP

  /// Behaviours of libcurl that this transport does not pass on.
  @Suite(.timeLimit(.minutes(5))) struct TransportMannersTests {
    private static func client(_ url: URL, deadlines: HTTPDeadlines = .standard) -> HTTPClient {
      HTTPClient(baseURL: url, session: HTTPSession(), deadlines: deadlines)
    }

    // MARK: Numbers

    @Test func `A limit of connections may be as large as an integer`() async {
      await #expect(processExitsWith: .success) {
        let server = try serve { _ in .text("ok") }
        let client = HTTPClient(baseURL: try server.url(), session: HTTPSession(connectionsPerHost: .max))
        let text = try await client.get().text
        #expect(text == "ok")
      }
    }

    @Test(arguments: [
      "Content-Length: 9223372036854775807", "Content-Length: 9223372036854775808", "Content-Length: -1",
      "Content-Length: 5\r\nContent-Range: bytes 5-9223372036854775806/9223372036854775807",
      "Content-Length: 5\r\nContent-Range: bytes 5-9223372036854775807/*",
    ]
    )
    func `A length that no file can have does not end the process`(fields: String) async throws {
      let server = try RawServer { head in
        guard head.contains("Range: bytes=5-") else {
          return RawServer.Answer("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 10\r\n\r\nhello")
        }
        let status = fields.contains("Content-Range") ? "206 Part" : "200 OK"
        return RawServer.Answer("HTTP/1.1 \(status)\r\nETag: \"a\"\r\n\(fields)\r\n\r\nhello")
      }
      try await inFolder { folder in
        let (url, file) = (try server.url(), folder.appendingPathComponent("file"))
        await #expect(throws: HTTPError.self) { try await HTTP.download(url, to: file) }
        // With any result.
        _ = try? await HTTP.download(url, to: file)
        #expect(server.requests.count >= 2)
      }
    }

    // MARK: Connections

    @Test(
      arguments: ["POST", "PATCH"],
      ["bytes", "file", "sequence", "none"]
    )
    func `A request that is not idempotent is sent at most once`(method: String, body: String) async throws {
      let server = try RawServer { head in
        head.hasPrefix("GET") ? RawServer.Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", end: .hold) : nil
      }
      let client = Self.client(try server.url())
      try await inFolder { folder in
        let file = folder.appendingPathComponent("body")
        try Data("pay 100".utf8).write(to: file)
        #expect(try await client.get().text == "ok")
        let pieces = AsyncStream<Data> { continuation in
          continuation.yield(Data("pay 100".utf8))
          continuation.finish()
        }
        var request = HTTPRequest(method: method, url: try server.url())
        switch body {
        case "bytes": request.body = .bytes(Data("pay 100".utf8))
        case "file": request.body = .file(file)
        case "sequence": request.body = .sequence(pieces, length: 7)
        default: break
        }
        let sent = request
        await #expect(throws: HTTPError.connectionLost(reason: "")) { try await client.send(sent) }
      }
      #expect(server.requests.count { $0.hasPrefix(method) } == 1, "\(server.requests)")
    }

    @Test func `A response that no request is waiting for closes its connection`() async throws {
      let port = try DeadPort()
      let client = Self.client(try port.url)
      let first = Task { try await client.get("first").text }
      let connection = try #require(await onThread { port.waitForConnection() })
      _ = await onThread { connection.receive() }
      func answer(_ text: String) -> ArraySlice<UInt8> {
        Array("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)".utf8)[...]
      }
      #expect(connection.send(answer("one")))
      #expect(try await first.value == "one")
      #expect(connection.send(answer("unsolicited")))
      let second = Task { try await client.get("second").text }
      let (two, three) = (answer("two"), answer("three"))
      Thread.detachNewThread {
        guard let other = port.waitForConnection() else { return }
        _ = other.receive()
        _ = other.send(two)
        _ = other.receive()
        _ = other.send(three)
      }
      #expect(try await second.value == "two")
      #expect(try await client.get("third").text == "three")
      connection.close()
    }

    // MARK: Heads

    @Test func `Trailers count as headers`() async throws {
      let body = "5\r\nhello\r\n0\r\n" + String(repeating: "X-Trailer: 1\r\n", count: 50_000)
      let server = try RawServer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body, end: .hold)
      let client = Self.client(try server.url(), deadlines: HTTPDeadlines(idle: .seconds(60)))
      await #expect(throws: HTTPError.headersTooLarge(limit: 0)) { try await client.get() }
    }

    @Test func `A head that is cut off anywhere is an error`() async throws {
      let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
      let server = try RawServer { request in
        let count = request.dropFirst(5).prefix { $0.isNumber }
        return RawServer.Answer(Array(head.utf8.prefix(Int(count) ?? 0)))
      }
      let client = Self.client(try server.url())
      for count in 0..<head.utf8.count {
        await #expect(throws: HTTPError.self, "\(count)") { try await client.get("\(count)") }
      }
    }

    @Test(arguments: [90_000, 300_000, 3_000_000])
    func `A header line that is too large throws headersTooLarge`(count: Int) async throws {
      let line = "X-Large: " + String(repeating: "a", count: count)
      let server = try RawServer("HTTP/1.1 200 OK\r\n\(line)\r\nX-Other: \(line)\r\n\(line)\r\n\(line)\r\n\r\n")
      let client = Self.client(try server.url())
      await #expect(throws: HTTPError.headersTooLarge(limit: 0)) { try await client.get() }
    }

    // MARK: Bodies

    @Test func `Only gzip is offered, and other encodings are refused`() async throws {
      let zeros = [UInt8](repeating: 0, count: 100)
      let server = try serve { request in
        if request.path == "/offer" { return .text(request.header("Accept-Encoding") ?? "-") }
        let encoding = request.path.dropFirst().replacingOccurrences(of: "+", with: ", ")
        return Reply(headers: [("Content-Encoding", encoding)], body: zeros)
      }
      let client = Self.client(try server.url())
      #expect(try await client.get("offer").text == "gzip")
      for encoding in ["br", "zstd", "gzip+gzip", "br+gzip"] {
        let error = await #expect(throws: HTTPError.self) { try await client.get(encoding) }
        guard case .protocolError(let reason) = error, reason.contains("encoding") else {
          Issue.record("\(encoding): \(String(describing: error))")
          continue
        }
        #expect(try await client.head(encoding).status == 200)
        // With its own header a request receives the body as it is, like a download.
        #expect(try await client.get(encoding, headers: ["Accept-Encoding": "br"]).body == Data(zeros))
        try await inFolder { folder in
          let file = folder.appendingPathComponent("file")
          #expect(try await client.download(encoding, to: file).status == 200)
          let content = try Data(contentsOf: file)
          #expect(content == Data(zeros))
        }
      }
    }

    @Test func `A body of gzip may have any number of members`() async throws {
      // "hello", by gzip.
      let member: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0, 0,
      ]
      let empty: [UInt8] = [31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
      let server = try serve { request in
        let body = [[UInt8]](repeating: member, count: 3) + [[UInt8]](repeating: empty, count: 10_000)
        let cut = request.path == "/cut" ? 3 : 0
        return Reply(headers: [("Content-Encoding", "gzip")], body: Array(body.joined().dropLast(cut)))
      }
      let client = Self.client(try server.url())
      let whole = try await client.get("all").text
      #expect(whole == "hellohellohello")
      await #expect(throws: HTTPError.protocolError(reason: "")) { try await client.get("cut") }
    }

    @Test(arguments: ["HTTP/3 200", "HTTP/1.9 200 OK", "HTTP/9.9 200 OK"])
    func `A malformed response is not a malformed URL`(line: String) async throws {
      let server = try RawServer("\(line)\r\nContent-Length: 0\r\n\r\n")
      let client = Self.client(try server.url())
      await #expect(throws: HTTPError.protocolError(reason: "")) { try await client.get() }
    }

    @Test(.enabled(if: isMeasurable)) func `A sequence of many pieces is sent in linear time`() async throws {
      let server = try UploadServer()
      let client = Self.client(try server.url())
      func time(_ count: Int) async throws -> Duration {
        let before = ContinuousClock.now
        let pieces = AsyncStream<Data> { continuation in
          for _ in 0..<count { continuation.yield(Data(count: 1_000)) }
          continuation.finish()
        }
        #expect(try await client.put(body: .sequence(pieces, length: Int64(count) * 1_000)).status == 200)
        return ContinuousClock.now - before
      }
      _ = try await time(100)
      // Ten times as many; with a cost that grows with each piece it was over a hundred times as long. What else runs here
      // may take the processor for a while, but not each time.
      var times: [(few: Duration, many: Duration)] = []
      repeat {
        times.append((try await time(1_000), try await time(10_000)))
      } while times.allSatisfy { $0.many >= $0.few * 40 } && times.count < 5
      #expect(times.contains { $0.many < $0.few * 40 }, "\(times)")
    }

    // MARK: Names

    /// Where the system's name server does not answer, each look-up takes a thread for ten seconds.
    @Test(.enabled(if: isMeasurable)) func `Cancelled look-ups leave few threads`() async throws {
      func threads() -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
      }
      let (before, server) = (threads(), try serve { _ in .text("ok") })
      let transport = ObservedTransport(try #require(CurlTransport()))
      let session = HTTPSession(transport: transport)
      for round in 0..<6 {
        var requests: [Task<HTTPResponse, any Error>] = []
        let begun = transport.waits.elements.count { !$0 }
        for index in 0..<100 {
          let url = try #require(URL(string: "http://host\(round)-\(index).stepwise.example:9/"))
          requests.append(Task { try await HTTPClient(baseURL: url, session: session).get() })
        }
        // Until all are being looked up, or wait for earlier ones.
        #expect(
          await becomesTrue {
            transport.waits.elements.count { !$0 } == begun + 100 || threads() - before >= 64
          }
        )
        for request in requests { request.cancel() }
        for request in requests { _ = await request.result }
        // They do not delay a request that needs none.
        let local = HTTPClient(
          baseURL: try server.url(),
          session: session,
          deadlines: HTTPDeadlines(total: .seconds(5))
        )
        #expect(try await local.get().text == "ok")
      }
      #expect(threads() - before < 200)
    }
  }
#endif
