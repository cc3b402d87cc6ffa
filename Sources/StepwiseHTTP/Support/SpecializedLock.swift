// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// `Lock`, which the compiler specializes in this module, for the locks that each request takes several times.
///
/// Generic code of another module is called with metadata that is looked up at run time: that was a tenth of what a
/// small request costs outside of the transport. The rules of `Lock` apply, and so does what it says about ThreadSanitizer.
struct SpecializedLock<State>: ~Copyable, Sendable {
  private let mutex: Mutex<State>
  #if TSAN
    private let handOver = Atomic<UInt8>(0)
  #endif

  init(_ state: consuming sending State) {
    mutex = Mutex(state)
  }

  @discardableResult @inline(__always)
  borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try mutex.withLock { state throws(Failure) in
      #if TSAN
        _ = handOver.load(ordering: .acquiring)
        defer { handOver.store(0, ordering: .releasing) }
      #endif
      return try body(&state)
    }
  }
}
