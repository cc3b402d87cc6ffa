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
    let released = Recorder<String>()
    let transport = ScriptedTransport { request in
      request.url.path == "/a"
        ? HTTPResponseHead(status: 302, headers: ["Location": "/b"]) : HTTPResponseHead(status: 200)
    } onRelease: {
      if let exchange = current.withLock({ $0 }) { released.record(exchange.url.path) }
    }
    let session = HTTPSession(transport: transport)
    let url = try #require(URL(string: "http://127.0.0.1/a"))
    let exchange = Exchange(try checked("GET", url), in: session)
    current.withLock { $0 = exchange }
    #expect(try await exchange.head().status == 200)
    #expect(released.elements == ["/b"])
    current.withLock { $0 = nil }
  }
}
