// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides how a step that has a handler ends.
///
/// Calls come from the handler's side, from cancellation, from releasing the handler, and from the closure's return.
struct EndingMachine {
  private enum State {
    /// The closure has not returned: what it works on is in use, and only a call of the handler ends the step.
    case running(isAbandoned: Bool)
    /// The closure has returned without a call.
    case waiting
    case ended
    /// Cancellation was first.
    case cancelled
  }

  enum CallAction: Equatable {
    case end
    /// The first call after a cancellation: no misuse.
    case ignore
    case report(count: Int)
  }

  enum EndAction: Equatable {
    case nothing, endCancelled, endAbandoned
  }

  enum ReturnAction: Equatable {
    case nothing, wait, endCancelled, endAbandoned
  }

  private var state = State.running(isAbandoned: false)
  private var calls = 0

  /// Whether the step still waits for its handler.
  var isWaiting: Bool { if case .waiting = state { true } else { false } }

  /// The handler was called.
  mutating func call() -> CallAction {
    calls += 1
    switch state {
    case .running, .waiting:
      state = .ended
      return .end
    case .cancelled where calls == 1:
      return .ignore
    case .ended, .cancelled:
      return .report(count: calls)
    }
  }

  mutating func cancel() -> EndAction {
    guard case .waiting = state else { return .nothing }
    state = .cancelled
    return .endCancelled
  }

  /// The last reference to the handler is gone.
  mutating func abandon() -> EndAction {
    switch state {
    case .running:
      state = .running(isAbandoned: true)
      return .nothing
    case .waiting:
      state = .ended
      return .endAbandoned
    case .ended, .cancelled:
      return .nothing
    }
  }

  /// The closure has returned.
  ///
  /// - Parameter isCancelled: Whether the run was cancelled by then.
  /// - Returns: What follows: the end, or waiting for the handler or a cancellation.
  mutating func closureReturned(isCancelled: Bool) -> ReturnAction {
    guard case .running(let isAbandoned) = state else { return .nothing }
    if isCancelled {
      state = .cancelled
      return .endCancelled
    }
    state = isAbandoned ? .ended : .waiting
    return isAbandoned ? .endAbandoned : .wait
  }
}
