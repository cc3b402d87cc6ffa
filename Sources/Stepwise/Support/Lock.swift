// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Synchronization

/// State behind a mutex: the only lock of the package.
///
/// `withLock` never calls user code, resumes a continuation or starts a task: the body returns an action, which the
/// caller performs afterwards.
///
/// On Linux, ThreadSanitizer does not see the kernel hand a contended mutex from one thread to another, and reports
/// false races. Under the `TSAN` define each critical section also acquires and releases an atomic, which it does see.
// Usable from inline, without which the compiler does not hand the methods to other modules: they would look up generic
// metadata at run time for each critical section.
@usableFromInline
package struct Lock<State: ~Copyable>: ~Copyable, Sendable {
  @usableFromInline let mutex: Mutex<State>
  #if TSAN
    @usableFromInline let handOver = Atomic<UInt8>(0)
    @usableFromInline let resumptions = Atomic(0)
  #endif

  @inlinable
  package init(_ state: consuming sending State) {
    mutex = Mutex(state)
  }

  @discardableResult @inlinable
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
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

  // ThreadSanitizer does not see the hand-over by a continuation that is resumed before its task suspends. Under the `TSAN`
  // define, what resumes it counts, and the task waits here: not for the lock, as a resumption takes locks of the runtime.
  #if TSAN
    @inlinable package borrowing func resuming(_ resume: () -> Void) {
      resumptions.add(1, ordering: .acquiringAndReleasing)
      resume()
      resumptions.subtract(1, ordering: .acquiringAndReleasing)
    }

    @inlinable package borrowing func waitForResumptions() { while resumptions.load(ordering: .acquiring) > 0 {} }
  #else
    @inlinable @inline(__always) package borrowing func resuming(_ resume: () -> Void) { resume() }
  #endif
}

extension Optional {
  /// Returns what is stored here, or stores and returns something new.
  mutating func stored(or new: @autoclosure () -> Wrapped) -> Wrapped {
    let value = self ?? new()
    self = value
    return value
  }
}

/// A value with its type erased, which stays an optional or an existential if it is one.
@usableFromInline
package protocol AnyBox: AnyObject, Sendable {
  var any: any Sendable { get }
}

/// A value that passes through code without its type.
@usableFromInline
package final class Box<Value: Sendable>: AnyBox {
  @usableFromInline package let value: Value

  @inlinable
  package init(_ value: Value) {
    self.value = value
  }

  @usableFromInline package var any: any Sendable { value }
}

/// A box that another object holds; empty once that is gone.
final class WeakBox: AnyBox {
  private weak let box: (any AnyBox)?

  init(_ box: any AnyBox) { self.box = box }

  var any: any Sendable { box?.any ?? () }
}
