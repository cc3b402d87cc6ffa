// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Testing

@testable import StepwiseHTTP

/// How much of a response is kept in memory.
@Suite(.timeLimit(.minutes(5))) struct LimitTests {
  @Test(arguments: TransportKind.available)
  func `A body in memory is at most as large as the session allows`(kind: TransportKind) async throws {
    let server = try serve { request in .ok([UInt8](repeating: 1, count: request.path == "/fits" ? 1_000 : 1_001)) }
    let session = HTTPSession(transport: try kind.transport(), bodyLimit: 1_000)
    let client = HTTPClient(baseURL: try server.url(), session: session)
    #expect(try await client.get("fits").body.count == 1_000)
    await #expect(throws: HTTPError.bodyTooLarge(limit: 1_000)) { try await client.get("large") }
    #expect(HTTPSession().bodyLimit == 64 * 1024 * 1024)
  }

  @Test(arguments: TransportKind.available)
  func `An endless body ends at the limit`(kind: TransportKind) async throws {
    let server = try serve { _ in Reply.ok([UInt8](repeating: 1, count: 1_000_000)).repeated(1_000_000) }
    let session = HTTPSession(transport: try kind.transport(), bodyLimit: 5_000_000)
    let client = HTTPClient(baseURL: try server.url(), session: session)
    await #expect(throws: HTTPError.bodyTooLarge(limit: 0)) { try await client.get() }
  }

  /// 650 KB of gzip that decompress to 103 MB.
  @Test(
    .enabled(if: isMeasurable),
    arguments: TransportKind.available
  )
  func `A decompressed body ends at the limit, with constant memory`(kind: TransportKind) async throws {
    let server = try RawServer { _ in
      RawServer.Answer(Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".utf8) + gzippedZeros(runs: 400_000))
    }
    let url = try server.url()
    await #expect(processExitsWith: .success) { [url = url as URL, kind = kind.rawValue as String] in
      LoopbackServer.bypassProxy()
      let transport = try #require(TransportKind(rawValue: kind)).transport()
      let client = HTTPClient(baseURL: url, session: HTTPSession(transport: transport, bodyLimit: 1_000_000))
      await #expect(throws: HTTPError.bodyTooLarge(limit: 0)) { try await client.get() }
      #expect(peakMemory() < 100_000_000, "\(peakMemory()) bytes")
    }
  }

  #if os(Linux)
    @Test(.enabled(if: isMeasurable))
    func `Compressed bodies that are read slowly take no further memory`() async throws {
      // 400 KB of gzip that decompress to 64 MB.
      let server = try RawServer { _ in
        let head = Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".utf8)
        return RawServer.Answer(head + gzippedZeros(runs: 250_000), end: .hold)
      }
      let url = try server.url()
      await #expect(processExitsWith: .success) { [url = url as URL] in
        LoopbackServer.bypassProxy()
        let session = HTTPSession(connectionsPerHost: 64)
        let client = HTTPClient(baseURL: url, session: session)
        var bodies: [HTTPBodyStream.Iterator] = []
        for _ in 0..<50 {
          var body = try await client.stream().body.makeAsyncIterator()
          for _ in 0..<3 { #expect(try await body.next()?.isEmpty == false) }
          bodies.append(body)
        }
        #expect(peakMemory() < 120_000_000, "\(peakMemory()) bytes")
        #expect(bodies.count == 50)
      }
    }
  #endif

  @Test(arguments: TransportKind.available)
  func `A head of more than 256 KiB is refused`(kind: TransportKind) async throws {
    // Less than libcurl's own limits, of 100 kilobytes a line and 300 in all.
    let fields = (0..<5).map { ("X-\($0)", String(repeating: "x", count: 57_000)) }
    let server = try serve { _ in Reply(headers: fields) }
    let client = try kind.client(server.url())
    await #expect(throws: HTTPError.headersTooLarge(limit: 0)) { try await client.get() }
  }

  @Test func `An error says the limit, and no URL`() {
    #expect(HTTPError.bodyTooLarge(limit: 12).description.contains("12 bytes"))
    #expect(HTTPError.bodyTooLarge(limit: 12).localizedDescription == HTTPError.bodyTooLarge(limit: 12).description)
  }

  @Test func `A request may have a limit of its own`() async throws {
    let server = try serve { _ in .ok([UInt8](repeating: 1, count: 1_000)) }
    let client = HTTPClient(baseURL: try server.url())
    #expect(try await client.get(bodyLimit: 1_000).body.count == 1_000)
    await #expect(throws: HTTPError.bodyTooLarge(limit: 999)) { try await client.get(bodyLimit: 999) }
    await #expect(throws: HTTPError.bodyTooLarge(limit: 0)) { try await HTTP.get(server.url(), bodyLimit: 0) }
  }
}
