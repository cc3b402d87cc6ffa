// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseHTTP
import StepwiseHTTPTesting
import StepwiseTesting
import Testing

private actor TokenStore {
  private var token: String
  private var refresh: Task<String, any Error>?
  private let fetch: @Sendable () async throws -> String

  init(token: String, fetch: @escaping @Sendable () async throws -> String) {
    self.token = token
    self.fetch = fetch
  }

  var current: String { token }

  func replacement(for rejected: String) async throws -> String {
    if token != rejected { return token }
    if let refresh { return try await refresh.value }
    let refresh = Task { [fetch] in try await fetch() }
    self.refresh = refresh
    defer { self.refresh = nil }
    token = try await refresh.value
    return token
  }
}

private actor CircuitBreaker<Time: Clock> where Time.Duration == Duration {
  struct Open: Error {}

  private let limit: Int
  private let pause: Duration
  private let clock: Time
  private var failures = 0
  private var openUntil: Time.Instant?
  private var isTesting = false

  init(limit: Int = 5, pause: Duration = .seconds(30), clock: Time) {
    self.limit = limit
    self.pause = pause
    self.clock = clock
  }

  func send(_ request: HTTPRequest, _ send: HTTPSend) async throws -> HTTPResponseStream {
    if let openUntil {
      guard clock.now >= openUntil, !isTesting else { throw Open() }
      isTesting = true
    }
    defer { isTesting = false }
    do {
      let response = try await send(request)
      record(isFailure: response.status >= 500)
      return response
    } catch {
      if !(error is CancellationError) { record(isFailure: true) }
      throw error
    }
  }

  private func record(isFailure: Bool) {
    failures = isFailure ? failures + 1 : 0
    openUntil = failures >= limit ? clock.now.advanced(by: pause) : nil
  }
}

/// The samples of the page on interceptors.
@Suite(.timeLimit(.minutes(5)))
struct InterceptorArticleTests {
  private static func client(_ stub: HTTPStub) throws -> HTTPClient {
    HTTPClient(baseURL: try #require(URL(string: "https://music.example")), session: stub.session, deadlines: .never)
  }

  /// All requests are rejected before the refresh ends.
  @Test func `Concurrent requests share one refresh`() async throws {
    let (stub, clock, fetches) = (HTTPStub(), ManualClock(), Recorder<Bool>())
    stub.on("GET", "/tracks") { request in
      .status(request.headers["Authorization"] == "Bearer new" ? 200 : 401)
    }
    let tokens = TokenStore(token: "old") {
      fetches.record(true)
      // Safety: the clock is manual.
      try await clock.sleep(for: .seconds(1))
      return "new"
    }
    var client = try Self.client(stub)

    client.interceptor = { request, send in
      var request = request
      let token = await tokens.current
      request.headers["Authorization"] = "Bearer \(token)"
      let response = try await send(request)
      guard response.status == 401 else { return response }
      request.headers["Authorization"] = "Bearer \(try await tokens.replacement(for: token))"
      return try await send(request)
    }

    let requests = (0..<20).map { _ in Task { [client] in try await client.get("tracks").status } }
    await clock.sleepers(atLeast: 1)
    while stub.requests.count < 20 { await Task.yield() }
    requests[7].cancel()
    clock.advance(by: .seconds(1))
    for (number, request) in requests.enumerated() where number != 7 { #expect(try await request.value == 200) }
    await #expect(throws: CancellationError.self) { try await requests[7].value }
    #expect(fetches.elements.count == 1)
    #expect(try await client.get("tracks").status == 200)
    #expect(fetches.elements.count == 1)
  }

  @Test func `A log contains no secrets`() async throws {
    let (stub, lines) = (HTTPStub(), Recorder<String>())
    stub.on("GET", "/tracks") { _ in .status(204) }
    @Sendable func log(_ line: String) { lines.record(line) }
    var client = try Self.client(stub)
    client.credentials = .basic(user: "ann", password: "geheim")

    client.interceptor = { request, send in
      let start = ContinuousClock.now
      do {
        let response = try await send(request)
        let time = ContinuousClock.now - start
        log("\(request.method) \(request.url.path) \(request.headers): \(response.status), \(time)")
        return response
      } catch {
        log("\(request.method) \(request.url.path) \(request.headers): \(error)")
        throw error
      }
    }

    #expect(try await client.get("tracks", query: ["key": "secret1"], headers: ["Cookie": "secret2"]).status == 204)
    await #expect(throws: HTTPError.self) { try await client.get("missing") }
    #expect(lines.elements.count == 2)
    let first = try #require(lines.elements.first)
    #expect(first.hasPrefix("GET /tracks [Accept: application/json; ") && first.contains(": 204, "))
    for secret in ["secret1", "secret2", "geheim", Data("ann:geheim".utf8).base64EncodedString()] {
      #expect(!lines.elements.contains { $0.contains(secret) })
    }
  }

  @Test func `A circuit breaker opens and closes`() async throws {
    let (stub, clock, isBroken) = (HTTPStub(), ManualClock(), Recorder<Bool>())
    isBroken.record(true)
    stub.on("GET", "/tracks") { _ in .status(isBroken.elements.last == true ? 500 : 200) }
    var client = try Self.client(stub)

    let breaker = CircuitBreaker(limit: 3, pause: .seconds(30), clock: clock)
    client.interceptor = { request, send in try await breaker.send(request, send) }

    for _ in 0..<3 { #expect(try await client.get("tracks").status == 500) }
    await #expect(throws: CircuitBreaker<ManualClock>.Open.self) { try await client.get("tracks") }
    clock.advance(by: .seconds(30))
    #expect(try await client.get("tracks").status == 500)
    await #expect(throws: CircuitBreaker<ManualClock>.Open.self) { try await client.get("tracks") }
    isBroken.record(false)
    clock.advance(by: .seconds(30))
    for _ in 0..<3 { #expect(try await client.get("tracks").status == 200) }
    #expect(stub.requests.count == 7)
  }
}
