// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import Foundation
  import Stepwise

  /// One transfer of a ``CurlTransport``, as its consumer sees it.
  final class CurlTransfer: HTTPTransfer {
    /// The number of bytes of a body that are read ahead.
    private static let capacity = 512 * 1024

    let request: HTTPTransferRequest
    /// The host whose connections it needs one of.
    let host: String
    let inbox = Inbox(capacity: capacity)
    private let loop: CurlLoop

    init(_ request: HTTPTransferRequest, on loop: CurlLoop) {
      self.request = request
      host = CurlQueue.host(of: request.url)
      self.loop = loop
    }

    nonisolated(nonsending) func head() async throws -> HTTPResponseHead {
      if !inbox.isEnded, !loop.send(.start(self)) { fail(HTTPError.refused(reason: "the session has ended")) }
      return try await inbox.head()
    }

    nonisolated(nonsending) func chunk() async throws -> Data? {
      try await inbox.chunk { loop.send(.receive(self)) }
    }

    func cancel() {
      let wasOpen = inbox.update { $0.cancel() }
      inbox.wake()
      if wasOpen { loop.send(.cancel(self)) }
    }

    func fail(_ error: any Error) {
      inbox.update { $0.complete(error) }
      inbox.wake()
    }
  }
#endif
