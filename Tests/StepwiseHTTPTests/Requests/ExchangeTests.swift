// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// What an exchange does with the transfers of a transport.
@Suite(.timeLimit(.minutes(5))) struct ExchangeTests {
  /// The lock is not recursive: a release within it would end the process.
  @Test func `The transfer of a redirect is released outside of the lock`() async throws {
    let current = Lock<Exchange?>(nil)
    let released = Recorder<Bool>()
    let transport = ScriptedTransport { request in
      request.url.path == "/a"
        ? HTTPResponseHead(status: 302, headers: ["Location": "/b"]) : HTTPResponseHead(status: 200)
    } onRelease: {
      if let exchange = current.withLock({ $0 }) {
        released.record(true)
        exchange.stop()
      }
    }
    let session = HTTPSession(transport: transport)
    let url = try #require(URL(string: "http://127.0.0.1/a"))
    let exchange = Exchange(try checked("GET", url), in: session)
    current.withLock { $0 = exchange }
    await #expect(throws: CancellationError.self) { try await exchange.head() }
    #expect(!released.elements.isEmpty)
    current.withLock { $0 = nil }
  }

  /// The task that checks the deadlines of another clock does not retain it while it sleeps.
  @Test func `A response that is released ends its request before its deadlines`() async throws {
    let (released, clock) = (Recorder<Bool>(), ManualClock())
    let transport = ScriptedTransport { _ in
      HTTPResponseHead(status: 200)
    } onRelease: {
      released.record(true)
    }
    do {
      let url = try #require(URL(string: "http://127.0.0.1/a"))
      let deadlines = HTTPDeadlines(clock: clock)
      let client = HTTPClient(baseURL: url, session: HTTPSession(transport: transport), deadlines: deadlines)
      let response = try await client.stream()
      #expect(response.status == 200)
      #expect(await becomesTrue { clock.sleeperCount > 0 })
    }
    await released.elements(atLeast: 1)
  }

  @Test func `A second reader of a body ends nothing for the first one`() async throws {
    let transfer = GatedTransfer()
    let url = try #require(URL(string: "http://127.0.0.1/a"))
    let exchange = Exchange(try checked("GET", url), in: HTTPSession(transport: transfer))
    _ = try await exchange.head()
    async let first = exchange.chunk()
    await transfer.isRead.valueIgnoringCancellation()
    #expect(try await exchange.chunk() == nil)
    transfer.gate.settle(())
    #expect(try await first == Data("body".utf8))
  }
}

/// A transport and its only transfer, whose body arrives when the gate opens.
private final class GatedTransfer: HTTPTransport, HTTPTransfer {
  let (isRead, gate) = (Once<Void>(), Once<Void>())

  func transfer(_ request: HTTPRequest) -> any HTTPTransfer { self }

  func invalidate() {}

  func head() async throws -> HTTPResponseHead { HTTPResponseHead(status: 200) }

  func chunk() async throws -> Data? {
    isRead.settle(())
    await gate.valueIgnoringCancellation()
    return Data("body".utf8)
  }

  func cancel() {}
}
