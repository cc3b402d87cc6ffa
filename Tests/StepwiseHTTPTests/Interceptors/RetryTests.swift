// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// Requests that are sent again.
@Suite(.timeLimit(.minutes(5))) struct RetryTests {
  private static let quick = RetryPolicy(maxAttempts: 3, backoff: .none)

  /// A client whose server answers with these statuses, then with 200.
  private static func client(
    _ statuses: [Int],
    headers: [(name: String, value: String)] = [],
    retry: HTTPRetry = HTTPRetry(policy: quick),
    keys: Recorder<String> = Recorder(),
    clock: any Clock<Duration> = ContinuousClock()
  ) throws -> (HTTPClient, LoopbackServer) {
    let rest = Lock(statuses[...])
    let server = try serve { request in
      keys.record(request.header("Idempotency-Key") ?? "-")
      let status = rest.withLock { $0.popFirst() } ?? 200
      if status == 0 { return .silent }
      return Reply(status: status, headers: status == 200 ? [] : headers, body: Array("why".utf8))
    }
    var client = HTTPClient(baseURL: try server.url(), deadlines: HTTPDeadlines(headers: nil, idle: nil, clock: clock))
    client.retry = retry
    return (client, server)
  }

  @Test
  func `429, 503 and lost connections are repeated, other responses are not`() async throws {
    let (client, server) = try Self.client([503, 429, 200, 500, 503, 503, 503])
    #expect(try await client.get().status == 200)
    #expect(server.requestCount == 3)
    #expect(try await client.get().status == 500)
    #expect(server.requestCount == 4)
    // The last attempt's response is the result.
    let last = try await client.get()
    #expect(last.status == 503 && last.text == "why" && server.requestCount == 7)
    let (other, silent) = try Self.client([0, 0])
    #expect(try await other.stream().status == 200)
    #expect(silent.requestCount == 3)
  }

  @Test func `A POST is repeated only with an idempotency key, which stays the same`() async throws {
    let keys = Recorder<String>()
    let (client, first) = try Self.client([503], keys: keys)
    #expect(try await client.post(json: 1).status == 503)
    #expect(keys.elements == ["-"])
    let (own, second) = try Self.client([503], keys: keys)
    #expect(try await own.post(headers: ["Idempotency-Key": "mine"], json: 1).status == 200)
    #expect(keys.elements == ["-", "mine", "mine"])
    let (keyed, third) = try Self.client(
      [503],
      retry: HTTPRetry(policy: Self.quick, addsIdempotencyKey: true),
      keys: keys
    )
    #expect(try await keyed.post(json: 1).status == 200)
    #expect([first, second, third].map(\.requestCount) == [1, 2, 2])
    #expect(keys.elements.count == 5 && keys.elements[3] == keys.elements[4] && keys.elements[3].count == 36)
  }

  @Test func `Progress is reported of each attempt`() async throws {
    let (client, server) = try Self.client([0])
    let progress = Recorder<HTTPUploadProgress>()
    let status = try await client.put(body: .bytes(Data(count: 5))) { progress.record($0) }.status
    #expect(status == 200)
    #expect(progress.elements.last == HTTPUploadProgress(sentBytes: 5, totalBytes: 5))
    #expect(server.requestCount == 2)
  }

  @Test func `A body that can be read once is not sent again`() async throws {
    let (client, server) = try Self.client([503])
    let stream = AsyncStream<Data> { continuation in
      continuation.yield(Data([1]))
      continuation.finish()
    }
    #expect(try await client.put(body: .sequence(stream, length: 1)).status == 503)
    #expect(server.requestCount == 1)
  }

  @Test func `Retry-After counts, and a longer one than granted ends the attempts`() async throws {
    let clock = ManualClock()
    let (client, server) = try Self.client([503, 503], headers: [("Retry-After", "7")], clock: clock)
    let request = Task { try await client.get() }
    for attempt in 1...2 {
      await clock.sleepers(atLeast: 1)
      #expect(server.requestCount == attempt)
      clock.advance(by: .milliseconds(6_999))
      #expect(clock.sleeperCount == 1)
      clock.advance(by: .milliseconds(1))
    }
    #expect(try await request.value.status == 200)
    let (impatient, refusing) = try Self.client([503], headers: [("Retry-After", "61")])
    #expect(try await impatient.get().status == 503)
    #expect(refusing.requestCount == 1)
  }

  @Test func `Cancelling ends the wait for the next attempt`() async throws {
    let clock = ManualClock()
    let (client, server) = try Self.client([503], headers: [("Retry-After", "7")], clock: clock)
    let request = Task { try await client.get() }
    await clock.sleepers(atLeast: 1)
    request.cancel()
    await #expect(throws: CancellationError.self) { try await request.value }
    #expect(server.requestCount == 1)
  }

  @Test func `Each attempt passes through the interceptor`() async throws {
    let (base, server) = try Self.client([503])
    var client = base
    let attempts = Recorder<Int>()
    client.interceptor = { request, send in
      let response = try await send(request)
      attempts.record(response.status)
      return response
    }
    #expect(try await client.get().status == 200)
    #expect(attempts.elements == [503, 200] && server.requestCount == 2)
  }
}
