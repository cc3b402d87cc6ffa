// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseHTTP
import StepwiseHTTPTesting
import StepwiseTesting
import Testing

/// The samples of the page on the stub.
@Suite(.timeLimit(.minutes(5)))
struct HTTPStubArticleTests {
  @Test func `A stub answers from its routes`() async throws {
    let stub = HTTPStub()
    stub.on("GET", "/tracks/*") { _ in try .json(["title": "Kiss"]) }
    stub.on("POST", "/tracks") { request in .status(request.body.isEmpty ? 400 : 201) }
    let base = try #require(URL(string: "https://music.example"))
    let client = HTTPClient(baseURL: base, session: stub.session)

    let track = try await client.get("tracks/1").decoded(as: [String: String].self)
    #expect(track["title"] == "Kiss")
    #expect(stub.requests.map(\.url.path) == ["/tracks/1"])
    #expect(try await client.post("tracks").status == 400)
    #expect(try await client.post("tracks", json: track).status == 201)
  }

  @Test func `A stub delays on a clock`() async throws {
    let base = try #require(URL(string: "https://music.example"))

    let clock = ManualClock()
    let stub = HTTPStub(clock: clock)
    stub.on("GET", "/slow") { _ in .text("late").delayed(by: .seconds(5)) }
    let deadlines = HTTPDeadlines(total: .seconds(3), clock: clock)
    let client = HTTPClient(baseURL: base, session: stub.session, deadlines: deadlines)
    let request = Task { try await client.get("slow") }
    await clock.sleepers(atLeast: 2)
    clock.advance(by: .seconds(3))
    await #expect(throws: HTTPError.timedOut(.total)) { try await request.value }
  }

  @Test func `A client retries after a stub's faults`() async throws {
    let base = try #require(URL(string: "https://music.example"))

    let stub = HTTPStub(faults: HTTPStubFaults(seed: 7, probability: 0.5))
    stub.on("GET", "/tracks") { _ in .text("Kiss") }
    var client = HTTPClient(baseURL: base, session: stub.session)
    client.retry = HTTPRetry(policy: RetryPolicy(maxAttempts: 20, backoff: .none))
    for _ in 0..<100 { #expect(try await client.stream("tracks").status == 200) }
    #expect(stub.requests.count > 100)
  }
}
