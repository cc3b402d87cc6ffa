// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Returns to the simulation the jobs that its thread sends to the global executor.
///
/// The runtime calls `swift_task_enqueueGlobal_hook`, a variable of its binary interface, for each such job. It is
/// looked up by name: where it is missing, that work leaves the simulation. The hook applies to the whole process and
/// passes on everything that no simulation's thread enqueued.
enum GlobalExecutorHook {
  private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
  private typealias EnqueueHook = @convention(thin) (UnownedJob, Enqueue) -> Void

  /// The simulations that are running, by their thread.
  private static let simulations = Lock<[UInt: SeededExecutor]>([:])
  /// Lets the hook pass on at once when no simulation is running.
  private static let count = Atomic<Int>(0)

  /// Calls the body with the executor known as the simulation of the calling thread.
  static func observing<Result>(_ executor: SeededExecutor, _ body: () throws -> Result) rethrows -> Result {
    install
    let thread = Platform.currentThread
    simulations.withLock { $0[thread] = executor }
    count.add(1, ordering: .sequentiallyConsistent)
    defer {
      count.subtract(1, ordering: .sequentiallyConsistent)
      _ = simulations.withLock { $0.removeValue(forKey: thread) }
    }
    return try body()
  }

  /// The simulation of the calling thread.
  static var simulation: SeededExecutor? {
    guard count.load(ordering: .relaxed) > 0 else { return nil }
    let thread = Platform.currentThread
    return simulations.withLock { $0[thread] }
  }

  /// Installs the hook, once.
  ///
  /// One that was installed before is replaced, as the runtime has room for one.
  private static let install: Void = {
    let enqueue: EnqueueHook = { job, original in
      guard let simulation = GlobalExecutorHook.simulation else { return original(job) }
      simulation.adopt(job)
    }
    guard let variable = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobal_hook") else { return }
    variable.assumingMemoryBound(to: EnqueueHook?.self).pointee = enqueue
  }()
}
