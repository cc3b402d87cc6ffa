// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a line and its results share.
///
/// When both are released, the line drops the progressions that have not started.
@usableFromInline
final class LineHandle: Sendable {
  let core: LineCore

  init(maxConcurrent: Int) {
    core = LineCore(maxConcurrent: maxConcurrent)
  }

  deinit { _ = core.clearPending() }

  @usableFromInline
  func add(_ work: LineWork) -> Bool { core.add(work) }

  @usableFromInline
  nonisolated(nonsending) func take() async -> LineWork.Product? { await core.take() }
}
