// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// nginx and Apache, with and without TLS.
@Suite(.timeLimit(.minutes(5)), .enabled(if: ForeignServers.isAvailable, ForeignServers.absence))
struct FileServerTests {
  private static let all = ["nginx", "nginx-tls", "apache", "apache-tls"]
  private static let numbers = Data((1...20_000).map { "\($0)\n" }.joined().utf8)

  @Test(arguments: all)
  func `A file arrives, compressed and not`(server: String) async throws {
    let client = try ForeignServers.client(server)
    let plain = try await client.get("numbers.txt")
    #expect(plain.status == 200 && plain.body == Self.numbers)
    let compressed = try await client.get("gzip/numbers.txt")
    #expect(compressed.headers["Content-Encoding"] == "gzip" && compressed.body == Self.numbers)
    #expect(try await client.head("numbers.txt").headers["Content-Length"] == "\(Self.numbers.count)")
    #expect(try await client.get("missing").status == 404)
  }

  @Test(arguments: ["nginx", "nginx-tls"])
  func `A connection serves request after request, also over HTTP/2`(server: String) async throws {
    let client = try ForeignServers.client(server)
    var connections: Set<String> = []
    for _ in 0..<20 { connections.insert(try await client.get("connection").text) }
    #expect(connections.count == 1)
  }

  @Test(arguments: all)
  func `Ranges, and those that a tag makes conditional`(server: String) async throws {
    let client = try ForeignServers.client(server)
    let part = try await client.get("random.bin", headers: ["Range": "bytes=10-19"])
    #expect(part.status == 206 && part.body.count == 10)
    let tag = try #require(part.headers["ETag"])
    let same = try await client.get("random.bin", headers: ["Range": "bytes=10-19", "If-Range": tag])
    #expect(same.status == 206 && same.body == part.body)
    let other = try await client.get("random.bin", headers: ["Range": "bytes=10-19", "If-Range": "\"other\""])
    #expect(other.status == 200 && other.body.count == 5_000_000)
    #expect(try await client.get("random.bin", headers: ["Range": "bytes=9999999-"]).status == 416)
    #expect(try await client.get("random.bin", headers: ["If-None-Match": tag]).status == 304)
  }

  @Test(arguments: all)
  func `Downloads resume`(server: String) async throws {
    let client = try ForeignServers.client(server)
    let whole = try await client.get("random.bin").body
    try await inFolder { folder in
      let (file, progress) = (folder.appendingPathComponent("a"), Recorder<HTTPDownloadProgress>())
      let (entered, gate) = (Recorder<Bool>(), DispatchSemaphore(value: 0))
      let broken = Task {
        try await client.download("random.bin", to: file) { progress in
          guard progress.receivedBytes > 0 else { return }
          entered.record(true)
          gate.wait()
        }
      }
      await entered.elements(atLeast: 1)
      broken.cancel()
      for _ in 0..<10_000 { gate.signal() }
      await #expect(throws: CancellationError.self) { try await broken.value }
      let response = try await client.download("random.bin", to: file) {
        progress.record($0)
      }
      #expect(response.isSuccess && progress.elements.allSatisfy { $0.resumedBytes > 0 })
      let data = try Data(contentsOf: file)
      // Comparing byte by byte takes long in a debug build.
      #expect(data == whole, "\(data.count) bytes")
    }
  }

  @Test(arguments: all)
  func `Basic authentication, with missing, wrong and right credentials`(server: String) async throws {
    var client = try ForeignServers.client(server)
    #expect(try await client.get("private/page.txt").status == 401)
    client.credentials = .basic(user: "ann", password: "wrong")
    #expect(try await client.get("private/page.txt").status == 401)
    client.credentials = .basic(user: "ann", password: "right")
    #expect(try await client.get("private/page.txt").text == "secret\n")
  }

  @Test(arguments: all)
  func `Redirects, followed and not`(server: String) async throws {
    let client = try ForeignServers.client(server)
    let followed = try await client.get("old")
    #expect(followed.body == Self.numbers && followed.url.path == "/numbers.txt")
    #expect(try await client.get("old", redirects: .never).status == 302)
  }

  @Test func `Over TLS the protocol is HTTP/2`() async throws {
    #expect(try await ForeignServers.client("nginx-tls").get("protocol").text == "HTTP/2.0")
    #expect(try await ForeignServers.client("nginx").get("protocol").text == "HTTP/1.1")
  }

  /// Three files at the same time, and one disk.
  @Test(arguments: all, 0..<3)
  func `Concurrent downloads receive no bytes of each other`(server: String, lane: Int) async throws {
    let client = try ForeignServers.client(server)
    let whole = try await ForeignServers.client("nginx").get("random.bin").body
    try await inFolder { folder in
      for round in 0..<8 {
        let file = folder.appendingPathComponent("\(round)")
        let response = try await client.download("random.bin", to: file)
        let data = try Data(contentsOf: file)
        #expect(response.isSuccess && data == whole)
      }
    }
  }

  @Test(arguments: ["nginx-tls", "apache-tls"])
  func `An unknown authority is an error`(server: String) async throws {
    let known = try ForeignServers.client(server)
    await #expect(throws: HTTPError.tls(.untrustedCertificate)) {
      try await HTTPClient(baseURL: known.baseURL, session: HTTPSession()).get("numbers.txt")
    }
  }

  @Test(arguments: ["nginx", "nginx-tls"]
  )
  func `nginx: a trailer, two cookies, Retry-After, a dropped connection`(server: String) async throws {
    let client = try ForeignServers.client(server)
    #expect(try await client.get("trailer/numbers.txt").body == Self.numbers)
    #expect(try await client.get("numbers-and-cookies").headers.values("Set-Cookie") == ["a=1", "b=2"])
    let busy = try await client.get("busy")
    #expect(busy.status == 503 && busy.retryAfter() == .seconds(7))
    let error = await #expect(throws: HTTPError.self) { try await client.get("dropped") }
    switch error {
    case .connectionLost, .protocolError: break
    default: Issue.record("\(String(describing: error))")
    }
  }
}
