// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Functions of the C library that the standard library does not offer.
package enum Platform {
  /// An identifier of the calling thread, unique among running threads.
  package static var currentThread: UInt {
    #if canImport(Glibc) || canImport(Android)
      UInt(pthread_self())
    #else
      UInt(bitPattern: pthread_self())
    #endif
  }

  /// An identifier of the current task, unique among running tasks; 0 outside of tasks.
  package static var currentTask: Int { withUnsafeCurrentTask { $0?.hashValue } ?? 0 }

  /// Writes a line to standard error in one call.
  package static func reportToStandardError(_ line: String) {
    var line = line + "\n"
    line.withUTF8 { bytes in
      _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
    }
  }
}

/// A condition variable of the C library with its mutex, through which threads wait for each other.
// Safety: the addresses never change, and only functions of pthreads use what is stored there.
package final class ThreadSignal: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init() {
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Wakes one waiting thread; call it after the awaited change.
  package func wake() {
    pthread_mutex_lock(mutex)
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
  }

  /// Waits as long as a condition holds that the waking thread ends before it calls `wake()`.
  package func wait(while isNeeded: () -> Bool) {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while isNeeded() { pthread_cond_wait(condition, mutex) }
  }

  /// Waits until it is woken, or for a number of nanoseconds; sometimes for less.
  ///
  /// - Parameters:
  ///   - nanoseconds: The maximum wait.
  ///   - isNeeded: Returns whether there is anything to wait for.
  package func wait(nanoseconds: Int, if isNeeded: () -> Bool) {
    var end = timespec()
    clock_gettime(CLOCK_REALTIME, &end)
    let sum = end.tv_nsec + nanoseconds
    end.tv_sec += sum / 1_000_000_000
    end.tv_nsec = sum % 1_000_000_000
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    if isNeeded() { pthread_cond_timedwait(condition, mutex, &end) }
  }
}
