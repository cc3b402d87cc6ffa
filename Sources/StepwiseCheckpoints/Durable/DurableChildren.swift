// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The runs that a run starts in its host and waits for, its children.
package enum DurableChildren {
  /// Returns the path of the scope that a call of `steps` with a name opens here; nil outside of a run with a host.
  ///
  /// It is the same in each run of the code, and no other scope of the run has it.
  package static func scope(_ name: String) -> String? {
    guard let run = Scope.currentJournal as? DurableRun, run.settings.host != nil else { return nil }
    return run.position.next(name)
  }

  /// The path of the step whose body runs; nil outside of steps.
  package static var step: String? { DurablePosition.current?.step }

  /// Whether the body of a step runs only so that the step can be undone.
  package static var isUnwinding: Bool {
    DurablePosition.current.map { $0.run.isUnwinding(at: $0.scope) } ?? false
  }

  /// Waits in the body or the undo of a step until `take` returns a value; returns nil outside of a run with a host.
  package nonisolated(nonsending) static func wait<Value: Sendable>(
    for children: [String],
    _ take: @Sendable () async throws -> Value?
  ) async throws -> Value? {
    guard let position = DurablePosition.current, let step = position.step else { return nil }
    return try await position.run.wait(for: children, at: step) { try await position.run.fromHost(take) }
  }
}

extension DurableRun {
  /// Whether a body runs only so that its step can be undone.
  fileprivate func isUnwinding(at scope: String) -> Bool {
    state.withLock { $0.log.isUnwinding || $0.isRepeated(scope) }
  }

  /// Waits for children; a run that waits for nothing else is stopped by its host until they have ended.
  fileprivate nonisolated(nonsending) func wait<Value: Sendable>(
    for children: [String],
    at step: String,
    _ take: @Sendable () async throws -> Value?
  ) async throws -> Value? {
    guard let host = settings.host else { return nil }
    if let value = try await take() { return value }
    let end = (DurablePosition.current?.isUndo ?? false) ? nil : limit(around: step)
    let news = host.news()
    // No one notifies a run in memory of the ends of its children. An undo is shielded, so a stop does not interrupt it.
    let look = { @Sendable (_: Duration) in
      for _ in 0..<20 where !self.isStopped && !Task.isCancelled { await news(.milliseconds(50)) }
    }
    // A run that is about to be interrupted is not stopped before.
    if let end, end < now + 1_000 {
      return try await DurableSignals.take(within: nil, by: host.clock, look) { try await take() }
    }
    return try await waiting(DurableWait(end: end, children: children), at: step) {
      try await DurableSignals.take(within: nil, by: host.clock, look) {
        try throwIfStopped()
        return try await take()
      }
    }
  }

  /// When the first time limit around a step is over, in milliseconds since 1970.
  private func limit(around step: String) -> Int? {
    state.withLock { state in
      var (scope, first) = (DurableLog.scope(of: step), Int?.none)
      while !scope.isEmpty {
        if let end = state.log.deadlines[scope + "/%1"] { first = min(first ?? end, end) }
        scope = DurableLog.scope(of: scope)
      }
      return first
    }
  }
}
