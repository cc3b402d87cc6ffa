// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// Runs work on a thread that is none of Swift concurrency's, and waits for it without blocking.
///
/// The work may block. Task-locals do not reach it.
package func onForeignThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread {
      let value = work()
      continuation.resume(returning: value)
    }
  }
}
