// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// Iterates an asynchronous sequence on behalf of different Tasks, one at a time.
actor SequenceSource<Base: AsyncSequence & Sendable> where Base.Element == Data {
  private var iterator: Base.AsyncIterator

  private init(_ base: Base) { iterator = base.makeAsyncIterator() }

  /// Returns the next element; must not be called again before it has returned.
  private func next() async throws -> Data? {
    var iterator = self.iterator
    defer { self.iterator = iterator }
    return try await iterator.next(isolation: self)
  }

  static func open(_ base: Base) -> HTTPTransferBody.Source {
    let source = SequenceSource(base)
    return { try await source.next() }
  }
}
