// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Calls an action when a number of suspension points has been reached.
final class Interruption: Sendable {
  private struct State {
    var count = 0
    var point = Int.max
    var action: (@Sendable () -> Void)?
  }

  private let state = Lock(State())

  /// The number of suspension points since the action was set.
  var count: Int { state.withLock { $0.count } }

  /// Starts to count.
  func arm(at point: Int, _ action: @escaping @Sendable () -> Void) {
    _ = state.withLock { exchange(&$0, with: State(point: point, action: action)) }
  }

  /// Counts a suspension point.
  func reached() {
    let action = state.withLock { state -> (@Sendable () -> Void)? in
      guard state.action != nil else { return nil }
      state.count += 1
      return state.count - 1 == state.point ? state.action : nil
    }
    action?()
  }
}
