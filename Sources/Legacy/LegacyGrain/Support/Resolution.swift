// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport
internal import Stepwise

/// What a future's `resolve` calls: the first call counts.
///
/// A future that releases its `resolve` without a call fails instead of never completing.
package final class Resolution<Result>: Sendable {
  private let handler: Lock<Sent<(@escaping () throws -> Result) -> Void>?>

  package init(_ handler: @escaping (@escaping () throws -> Result) -> Void) {
    self.handler = Lock(Sent(handler))
  }

  deinit {
    take()?.value { throw ResolverError(.abandoned, file: "Deferred.future", line: 0) }
  }

  package func resolve(_ useResult: @escaping () throws -> Result) { take()?.value(useResult) }

  private func take() -> Sent<(@escaping () throws -> Result) -> Void>? { handler.withLock { $0.take() } }
}
