// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseHTTP
import StepwiseTesting
import Testing

@testable import StepwiseHTTPTesting

/// The stub for tests of users.
@Suite(.timeLimit(.minutes(5))) struct HTTPStubTests {
  @Test func `A response without a body cannot break off`() async throws {
    let stub = HTTPStub(faults: HTTPStubFaults(seed: 1, probability: 1, kinds: [.truncatedBody]))
    stub.on("*", "/text") { _ in .text("hello") }
    stub.on("*", "/none") { _ in .status(204) }
    let url = try #require(URL(string: "http://a.example/"))
    let client = HTTPClient(baseURL: url, session: stub.session)
    #expect(try await client.head("text").status == 200)
    #expect(try await client.get("none").status == 204)
    await #expect(throws: HTTPError.connectionLost(reason: "")) { try await client.get("text") }
  }

  @Test(arguments: ["/redirect", "/retry"])
  func `A request in flight is redirected and repeated after its session has ended`(path: String) async throws {
    let stub = HTTPStub()
    let session = stub.session
    stub.on("GET", "/redirect") { _ in
      session.invalidate()
      return .status(302, headers: ["Location": "/end"])
    }
    stub.on("GET", "/retry") { _ in
      let isFirst = stub.requests.count == 1
      session.invalidate()
      return isFirst ? .status(503, headers: ["Retry-After": "0"]) : .text("end")
    }
    stub.on("GET", "/end") { _ in .text("end") }
    var client = HTTPClient(baseURL: try #require(URL(string: "http://a.example/")), session: session)
    client.retry = HTTPRetry()
    #expect(try await client.get(path).text == "end")
    let count = stub.requests.count
    await #expect(throws: HTTPError.refused(reason: "")) {
      try await HTTPClient(baseURL: client.baseURL, session: session).get(path)
    }
    #expect(stub.requests.count == count)
  }

  private static func client(_ stub: HTTPStub, deadlines: HTTPDeadlines = .never) throws -> HTTPClient {
    let url = try #require(URL(string: "https://example.org/v1"))
    return HTTPClient(baseURL: url, session: stub.session, deadlines: deadlines)
  }

  // G262
  /// The progress closure keeps the queue of the download busy, on which the bytes are written.
  @Test func `No time passes while a download writes its file`() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("clock-\(UUID())")
    defer { try? FileManager.default.removeItem(at: file) }
    for _ in 0..<10 {
      let (clock, times) = (ManualClock(), Recorder<Duration>())
      let stub = HTTPStub(clock: clock)
      stub.on("GET", "*") { _ in HTTPStubResponse(status: 200, chunks: Array(repeating: Data(count: 1_000), count: 3)) }
      let client = try Self.client(stub, deadlines: HTTPDeadlines(idle: .seconds(5), total: .seconds(30), clock: clock))
      let response = try await clock.run {
        try await client.download("file", to: file) { _ in
          for _ in 0..<2_000 where clock.now.offset == .zero { sched_yield() }
          times.record(clock.now.offset)
        }
      }
      #expect(response.status == 200)
      #expect(!times.elements.isEmpty && times.elements.allSatisfy { $0 == .zero })
    }
  }

  @Test func `A route receives the whole request, and its response arrives`() async throws {
    let stub = HTTPStub()
    stub.on("POST", "/v1/tracks") { request in
      let track = try request.decoded(as: [String: String].self)
      return try .json(track, status: 201)
    }
    var client = try Self.client(stub)
    client.credentials = .basic(user: "u", password: "p")
    let response = try await client.post("tracks", query: ["q": "a b"], json: ["title": "Kiss"])
    #expect(response.status == 201)
    #expect(try response.decoded(as: [String: String].self) == ["title": "Kiss"])
    let request = try #require(stub.requests.first)
    #expect(request.method == "POST" && request.url.absoluteString == "https://example.org/v1/tracks?q=a%20b")
    #expect(request.headers["Authorization"] == "Basic dTpw" && request.text == #"{"title":"Kiss"}"#)
  }

  @Test func `The last matching route responds; without one, the request fails`()
    async throws
  {
    let stub = HTTPStub()
    stub.on("*", "/v1/*") { _ in .text("any") }
    stub.on("GET", "/v1/a") { _ in .text("a") }
    let client = try Self.client(stub)
    #expect(try await client.get("a").text == "a")
    #expect(try await client.put("a").text == "any")
    #expect(try await client.get("b/c").text == "any")
    let url = try #require(URL(string: "https://example.org/v2?secret=1"))
    let error = await #expect(throws: HTTPError.self) {
      try await HTTPClient(baseURL: url, session: stub.session).get()
    }
    guard case .request(let underlying as HTTPStubError) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(underlying == .noRoute(method: "GET", path: "/v2"))
    #expect(underlying.description == "the stub has no route for GET /v2; add one with `on`")
  }

  @Test(arguments: [
    ("/a", "/a", true), ("/a", "/a/", false), ("*", "/x/y", true), ("/a/*", "/a/b/c", true), ("/a/*", "/a", false),
    ("/a/*/c", "/a/b/c", true), ("/a/*/c", "/a/c", false), ("/a*a", "/a", false), ("/*/b/*/d", "/a/b/c/b/d", true),
    ("/*b*d", "/ab", false),
  ]
  )
  func `An asterisk of a path stands for any characters`(pattern: String, path: String, isMatch: Bool) {
    #expect(HTTPStub.matches(pattern, path) == isMatch)
  }

  @Test func `Redirects, cookies and limits are those of any transport`() async throws {
    let stub = HTTPStub()
    stub.on("GET", "/v1/a") { _ in .status(302, headers: ["Location": "b"]) }
    stub.on("GET", "/v1/b") { _ in HTTPStubResponse(chunks: [Data(count: 6), Data(count: 6)]) }
    let client = try Self.client(stub)
    #expect(try await client.get("a").body.count == 12)
    await #expect(throws: HTTPError.bodyTooLarge(limit: 11)) { try await client.get("b", bodyLimit: 11) }
    #expect(stub.requests.map(\.url.path) == ["/v1/a", "/v1/b", "/v1/b"])
    var sizes: [Int] = []
    for try await chunk in try await client.stream("b").body { sizes.append(chunk.count) }
    #expect(sizes.reduce(0, +) == 12)
  }

  @Test func `Bodies of files, sequences and forms are recorded, with progress`() async throws {
    let (stub, progress) = (HTTPStub(), Recorder<Int64>())
    stub.on("PUT", "*") { request in .text("\(request.body.count)") }
    let client = try Self.client(stub)
    let pieces = AsyncStream<Data> { continuation in
      for byte in UInt8(1)...3 { continuation.yield(Data([byte])) }
      continuation.finish()
    }
    #expect(try await client.put(body: .sequence(pieces)) { progress.record($0.sentBytes) }.text == "3")
    #expect(stub.requests.map(\.body) == [Data([1, 2, 3])] && progress.elements == [3])
    let empty = AsyncStream<Data> { $0.finish() }
    await #expect(throws: HTTPError.refused(reason: "")) { try await client.put(body: .sequence(empty, length: 1)) }
  }

  @Test func `The stub's clock delays the head and each chunk`() async throws {
    let clock = ManualClock()
    let stub = HTTPStub(clock: clock)
    stub.on("GET", "*") { _ in
      HTTPStubResponse(chunks: [Data([1]), Data([2])], delay: .seconds(5), chunkDelay: .seconds(1))
    }
    let client = try Self.client(stub)
    let request = Task { try await client.get() }
    for delay in [5, 1, 1] {
      await clock.sleepers(atLeast: 1)
      clock.advance(by: .seconds(delay))
    }
    #expect(try await request.value.body == Data([1, 2]))
    #expect(clock.sleeperCount == 0)
  }

  @Test func `A cancelled request ends although its handler ignores cancellation`()
    async throws
  {
    let (stub, clock, entered, ended) = (HTTPStub(), ManualClock(), Recorder<Bool>(), Recorder<Bool>())
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    stub.on("GET", "/v1/obedient") { _ in
      entered.record(true)
      do { try await clock.sleep(for: .seconds(1)) } catch { ended.record(true) }
      return .status(200)
    }
    stub.on("GET", "/v1/deaf") { _ in
      entered.record(true)
      await Task { for await _ in gate { break } }.value
      ended.record(true)
      return .status(200)
    }
    let client = try Self.client(stub)
    for (path, count) in [("obedient", 1), ("deaf", 2)] {
      let request = Task { try await client.get(path) }
      await entered.elements(atLeast: count)
      request.cancel()
      await #expect(throws: CancellationError.self) { try await request.value }
      if path == "deaf" { open.yield() }
      await ended.elements(atLeast: count)
    }
  }

  @Test func `An invalidated session refuses requests, the stub's others do not`()
    async throws
  {
    let stub = HTTPStub()
    stub.on("*", "*") { _ in .status(204) }
    let client = try Self.client(stub)
    #expect(try await client.get().status == 204)
    client.session.invalidate()
    await #expect(throws: HTTPError.refused(reason: "")) { try await client.get() }
    #expect(try await Self.client(stub).get().status == 204)
  }

  @Test
  func `A seed repeats its faults for each path, whatever others do`() async throws {
    func outcomes(seed: UInt64, noise: Bool = false) async throws -> [String] {
      let stub = HTTPStub(faults: HTTPStubFaults(seed: seed, probability: 0.5))
      stub.on("GET", "*") { _ in .text("0123456789") }
      let client = try Self.client(stub)
      var outcomes: [String] = []
      for _ in 0..<60 {
        if noise { _ = try? await client.get("other") }
        do {
          let response = try await client.get()
          outcomes.append("\(response.status) \(response.text)")
        } catch {
          outcomes.append("\(error)")
        }
      }
      return outcomes
    }
    let first = try await outcomes(seed: 1)
    #expect(try await outcomes(seed: 1) == first)
    #expect(try await outcomes(seed: 1, noise: true) == first)
    #expect(try await outcomes(seed: 2) != first)
    #expect(
      Set(first) == [
        "200 0123456789", "503 ", HTTPError.connectionRefused.description,
        HTTPError.connectionLost(reason: "the server closed it without a response").description,
        HTTPError.connectionLost(reason: "the response is not as long as its headers say").description,
      ]
    )
    #expect((15...45).contains(first.count { $0 == "200 0123456789" }), "\(first)")
  }

  @Test func `With probability 0 nothing fails, and with 1 everything does`() {
    #expect((0..<100).allSatisfy { HTTPStubFaults(seed: 3, probability: 0).fault(of: "a", count: $0) == nil })
    let faults = HTTPStubFaults(seed: 3, probability: 1, kinds: [.unavailable])
    #expect((0..<100).allSatisfy { faults.fault(of: "a", count: $0) == .unavailable })
  }
}
