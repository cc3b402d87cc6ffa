// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  /// The clock by which a fleet's process waits: the system's, or that of a store in memory.
  struct FleetClock: Sendable {
    let base: any Clock<Duration>
    /// The time since the clock was created here.
    let now: @Sendable () -> Duration
    /// Whether time passes by itself, and stores are elsewhere, so that something may be missed.
    let isReal: Bool

    init(_ base: some Clock<Duration>) {
      self.base = base
      now = stopwatch(on: base)
      isReal = base is ContinuousClock
    }

    /// The system's clock.
    static let system = FleetClock(ContinuousClock())

    /// Returns when the time has passed or the Task is cancelled.
    func sleep(for duration: Duration) async {
      if duration < Self.endless { return (try? await base.sleep(for: max(.zero, duration))) ?? () }
      _ = await Once<Void>().value()
    }

    /// A wait that only news or a cancellation ends.
    static let endless = Duration.seconds(3_000_000_000)

    /// Sleeps where renewals of leases run.
    func sleepForLease(_ duration: Duration) async {
      if isReal { await LeaseThreads.sleep(for: duration) } else { await sleep(for: duration) }
    }

    /// How long to wait for what a notification reports sooner.
    ///
    /// In memory none is lost, and each poll would be a step of the test's clock.
    func polling(_ delay: Duration) -> Duration { isReal ? delay : Self.endless }
  }
#endif
