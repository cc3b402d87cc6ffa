// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseTesting

/// Runs something on a thread with a stack of 512 KiB, to its end.
package func onASmallStack<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    let thread = Thread { continuation.resume(with: Result { try body() }) }
    thread.stackSize = 512 << 10
    thread.start()
  }
}

/// Runs asynchronous code, with all that it sets going, on the calling thread, which may have a small stack.
package func onThisThread<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
  try SeededExecutor(seed: 1).run(body)
}
