// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch

/// Serial queues whose name code that runs in them can tell.
enum NamedQueue {
  private static let key = DispatchSpecificKey<String>()

  static func make(_ name: String) -> DispatchQueue {
    let queue = DispatchQueue(label: name)
    self.name(queue, name)
    return queue
  }

  static func name(_ queue: DispatchQueue, _ name: String) { queue.setSpecific(key: key, value: name) }

  /// The name of the queue that the caller runs in.
  static var current: String { DispatchQueue.getSpecific(key: key) ?? "another queue" }
}
