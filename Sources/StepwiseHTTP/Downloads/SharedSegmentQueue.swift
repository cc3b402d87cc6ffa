// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// A ``SegmentQueue`` that workers share.
final class SharedSegmentQueue: Sendable {
  private struct State {
    var queue: SegmentQueue
    /// For each piece that a worker has taken, whether the server sends it.
    var answers: [Int: Once<Bool>] = [:]
  }

  private let state: Lock<State>

  init(_ queue: SegmentQueue) { state = Lock(State(queue: queue)) }

  /// Returns the next piece for a worker; nil when there is none.
  func take() -> Int? {
    state.withLock { state in
      guard let piece = state.queue.take() else { return nil }
      state.answers[piece] = Once()
      return piece
    }
  }

  /// The server sends a piece.
  func accept(_ piece: Int) { state.withLock { $0.answers[piece] }?.settle(true) }

  /// Returns a piece to the queue that the server refuses for now; returns whether the worker leaves because others
  /// remain.
  func refuse(_ piece: Int) -> Bool {
    let (leaves, answer) = state.withLock { state in
      (state.queue.refuse(piece), state.answers.removeValue(forKey: piece))
    }
    answer?.settle(false)
    return leaves
  }

  func requeue(_ piece: Int) { state.withLock { $0.queue.requeue(piece) } }

  /// Takes a piece for a worker whose response continues with it, unless another worker receives it.
  ///
  /// Waits until the server has answered, if another worker has requested it.
  nonisolated(nonsending) func claim(_ piece: Int) async -> Bool {
    while true {
      let (isClaimed, answer) = state.withLock { state in (state.queue.claim(piece), state.answers[piece]) }
      guard !isClaimed, let answer else { return isClaimed }
      guard await answer.value() == false else { return false }
    }
  }
}
