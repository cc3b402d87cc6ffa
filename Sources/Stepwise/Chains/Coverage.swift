// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// A time limit as its covered steps see it, which run in a separate task.
///
/// The timer cancels that task too, so only this value shows whether the task of the run was cancelled.
final class Coverage: Sendable {
  /// A flag that indicates whether the task that waits for the covered steps was cancelled.
  final class Request: Sendable {
    private let flag = Atomic(false)

    var isCancelled: Bool { flag.load(ordering: .acquiring) }

    /// Sets the flag; called before the task of the steps is cancelled.
    func cancel() { flag.store(true, ordering: .releasing) }
  }

  /// The time limit around this one.
  private let outer: Coverage?
  /// The flag of the outermost time limit.
  private let request: Request
  private let isStillAwaited: (@Sendable () -> Bool)?

  init(in outer: Coverage?, _ request: Request, isAwaited: (@Sendable () -> Bool)?) {
    self.outer = outer
    self.request = outer?.request ?? request
    isStillAwaited = isAwaited
  }

  /// Whether the task of the run was cancelled, which waits for the outermost time limit.
  var isRunCancelled: Bool { request.isCancelled }

  /// Whether the run still waits for the steps.
  var isAwaited: Bool { sequence(first: self, next: \.outer).allSatisfy { $0.isStillAwaited?() ?? true } }
}
