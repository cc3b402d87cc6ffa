// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The pieces of a segmented download that no worker has, and the number of workers.
struct SegmentQueue {
  private var pending: [Int]
  private var workers: Int

  /// - Parameters:
  ///   - pending: The pieces that no worker has yet, in order.
  ///   - workers: The number of workers, one of which has a piece already.
  init(pending: [Int], workers: Int) {
    self.pending = pending
    self.workers = workers
  }

  /// Returns the next piece for a worker; nil when there is none, and the worker leaves.
  mutating func take() -> Int? {
    guard !pending.isEmpty else {
      workers -= 1
      return nil
    }
    return pending.removeFirst()
  }

  /// Takes one piece, if no worker has it.
  mutating func claim(_ piece: Int) -> Bool {
    guard let index = pending.firstIndex(of: piece) else { return false }
    pending.remove(at: index)
    return true
  }

  /// Returns a piece to the queue whose response ended early.
  mutating func requeue(_ piece: Int) { pending.insert(piece, at: 0) }

  /// Returns a piece to the queue that the server refuses for now; returns whether the worker leaves because others
  /// remain.
  mutating func refuse(_ piece: Int) -> Bool {
    pending.insert(piece, at: 0)
    guard workers > 1 else { return false }
    workers -= 1
    return true
  }
}
