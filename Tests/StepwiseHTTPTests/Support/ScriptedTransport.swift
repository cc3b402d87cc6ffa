// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseHTTP

/// A transport without a network: each transfer has the head that a closure returns, and no body.
final class ScriptedTransport: HTTPTransport {
  private let answer: @Sendable (HTTPRequest) -> HTTPResponseHead
  private let onRelease: @Sendable () -> Void

  /// Creates a transport that calls `onRelease` when a transfer is released.
  init(
    _ answer: @escaping @Sendable (HTTPRequest) -> HTTPResponseHead,
    onRelease: @escaping @Sendable () -> Void = {}
  ) {
    self.answer = answer
    self.onRelease = onRelease
  }

  func transfer(_ request: HTTPRequest) -> any HTTPTransfer {
    Transfer(answer(request), request, onRelease)
  }

  func invalidate() {}

  private final class Transfer: HTTPTransfer {
    private let answer: HTTPResponseHead
    private let request: HTTPRequest
    private let onRelease: @Sendable () -> Void

    init(_ answer: HTTPResponseHead, _ request: HTTPRequest, _ onRelease: @escaping @Sendable () -> Void) {
      self.answer = answer
      self.request = request
      self.onRelease = onRelease
    }

    deinit { onRelease() }

    nonisolated(nonsending) func head() async throws -> HTTPResponseHead {
      if case .bytes(let data) = request.body?.content { request.onBytesSent?(Int64(data.count)) }
      return answer
    }

    nonisolated(nonsending) func chunk() async throws -> Data? { nil }

    func cancel() {}
  }
}
