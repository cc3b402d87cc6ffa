// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Chain {
  /// Continues all runs of this chain that an earlier process left behind, concurrently.
  ///
  /// Each run is resumed as `resume(id:in:)` does it, and no run keeps another from continuing: neither one that fails,
  /// nor one that sleeps for days, nor one that another process holds, whose outcome is a failure with
  /// ``CheckpointError/held(id:location:processID:)``. Call it when your program starts:
  ///
  /// ```swift
  /// try await order.resumeAll(in: store) { id, outcome in print("\(id): \(outcome)") }
  /// ```
  ///
  /// This method returns when all of them have ended. Cancelling its task stops them, and you can resume them again. What
  /// `unfinished(in:)` leaves out, because it cannot be read, is left out here.
  ///
  /// - Parameters:
  ///   - store: The store that holds the runs.
  ///   - limit: How many runs may be in progress at once; a run that sleeps counts. A limit below one counts as one.
  ///   - maxValueSize: The limit for the encoded value of one step, in bytes.
  ///   - report: Receives the id and the outcome of each run when it has ended, one after the other, in the caller's
  ///     isolation.
  ///   - now: Returns the time, which ends waits and time limits that are stored.
  /// - Throws: An error that prevents reading the store; `CancellationError` when the calling task is cancelled. The error
  ///   of a run is not thrown: `report` receives it.
  public nonisolated(nonsending) func resumeAll(
    in store: some CheckpointStore,
    limit: Int = .max,
    maxValueSize: Int = 16 * 1_024 * 1_024,
    report: (_ id: String, _ outcome: Outcome<Output>) async -> Void = { _, _ in },
    now: @escaping @Sendable () -> Date = { Date() }
  ) async throws {
    let ids = try await unfinished(in: store)
    // The token stops the runs, whereas their handles would cancel them for good.
    let token = CancellationToken()
    await withTaskCancellationHandler {
      await withTaskGroup(of: (id: String, outcome: Outcome<Output>).self) { group in
        for (index, id) in ids.enumerated() {
          if index >= max(1, limit), let ended = await group.next() { await report(ended.id, ended.outcome) }
          group.addTask {
            let run = self.durable(nil, id, store, 0, maxValueSize, now)
            return (id, await self.start(with: run, cancelledBy: token).outcome)
          }
        }
        for await ended in group { await report(ended.id, ended.outcome) }
      }
    } onCancel: {
      token.cancel()
    }
    try Task.checkCancellation()
  }
}
