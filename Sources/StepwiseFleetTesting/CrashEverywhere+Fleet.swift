// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints
  public import StepwiseFleet
  public import StepwiseTesting

  /// Ends the worker of a fleet in memory at each of its writes, lets another one take over, and compares with an
  /// undisturbed run.
  ///
  /// Use this before you ship a chain on a fleet, or a progression. Let your fakes report what they do to the ledger:
  ///
  /// ```swift
  /// let ledger = EffectLedger()
  /// let order = paidOrder(ledger)
  /// try await crashEverywhere(effects: ledger) { worker in
  ///   worker.register(order)
  /// } _: { fleet in
  ///   try await fleet.enqueue(order, Cart(books: 2), id: "order-7")
  ///   return try await fleet.result(of: "order-7", as: order)
  /// }
  /// ```
  ///
  /// It finds what `crashEverywhere(input:_:)` finds in a chain: code between steps that is not deterministic, and effects
  /// that happen more or less often than in the undisturbed run, because they have no key. Claims, stages, waits, signals and
  /// ends are writes as well. Each crash is tried before and after its write.
  ///
  /// No test waits: sleeps, time limits and delays pass on the clock.
  ///
  /// - Parameters:
  ///   - effects: The ledger that your fakes report to; it is emptied before each crash.
  ///   - clock: The clock of the fleets; pass it if your code takes it, for retries and time limits.
  ///   - configuration: The configuration of the workers.
  ///   - maxWrites: The number of writes after which this gives up.
  ///   - fileID: The file that a report names, as `#fileID`.
  ///   - filePath: The file that a report names, as `#filePath`.
  ///   - line: The line that a report names.
  ///   - column: The column that a report names.
  ///   - register: Registers the types with the worker's fleet; called for each worker.
  ///   - body: Enqueues jobs, sends signals, and returns what is compared. Its fleet does not crash, and runs no jobs.
  /// - Returns: The number of crashes.
  /// - Throws: `CrashDifference` for the first crash that makes a difference. When there is none, what the undisturbed body
  ///   throws.
  @discardableResult
  @concurrent public func crashEverywhere<Output: Equatable & Sendable>(
    effects: EffectLedger? = nil,
    clock: ManualClock = ManualClock(),
    configuration: FleetConfiguration = FleetConfiguration(),
    maxWrites: Int = 10_000,
    fileID: String = #fileID,
    filePath: String = #filePath,
    line: Int = #line,
    column: Int = #column,
    register: @escaping @Sendable (_ worker: Fleet) -> Void,
    _ body: @escaping @Sendable (_ fleet: Fleet) async throws -> Output
  ) async throws -> Int {
    let trials = CrashTrials(
      ledger: effects,
      maxWrites: maxWrites,
      fileID: fileID,
      filePath: filePath,
      line: line,
      column: column
    )
    return try await trials.run { write, isLate in
      let crash = MemoryFleetCrash(at: write, isLate: isLate)
      effects?.begin { crash.hasCrashed }
      let store = MemoryFleetStore(clock: clock)
      let client = Fleet(store, configuration: configuration)
      let end = await CrashTestEnd {
        try await clock.run {
          try await withWorker(until: { token in
            let first = Fleet(store, crash: crash, configuration: configuration)
            register(first)
            do { try await first.work(until: token) } catch  where crash.hasCrashed {}
            guard crash.hasCrashed else { return }
            effects?.resume()
            let second = Fleet(store, configuration: configuration)
            register(second)
            try await second.work(until: token)
          }) { try await body(client) }
        }
      }
      return CrashTrial(hasCrashed: crash.hasCrashed, end: end, values: await client.storedValues)
    }
  }

  extension Fleet {
    /// What the steps of all jobs have stored, by their jobs and paths.
    fileprivate var storedValues: [String: [UInt8]] {
      get async {
        var values: [String: [UInt8]] = [:]
        let jobs = try? await jobs(limit: 10_000).jobs
        for job in jobs ?? [] {
          for (entry, _) in (try? await entries(of: job.id)) ?? [] {
            for (step, value) in DurableEvent.values(in: entry) { values["\(job.id): \(step)"] = value }
          }
        }
        return values
      }
    }
  }
#endif
