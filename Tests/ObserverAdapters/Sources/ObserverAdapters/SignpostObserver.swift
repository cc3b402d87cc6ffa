// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// Compiled on Apple's platforms only.
#if canImport(os)
  import Stepwise
  import os

  struct SignpostObserver: RunObserver {
    let signposter: OSSignposter

    func runStarted(_ run: ObservedRun) {
      _ = signposter.beginInterval("run", id: OSSignpostID(run.id), "\(run.name)")
    }

    func attemptFailed(_ step: ObservedStep, attempt: Int, error: any Error) {
      signposter.emitEvent("attempt failed", id: OSSignpostID(step.run.id), "\(step.description), \(attempt)")
    }

    func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) {
      signposter.emitEvent("step", id: OSSignpostID(step.run.id), "\(step.description)")
    }

    func runEnded(_ run: ObservedRun, duration: Duration, outcome: ChainState) {
      signposter.endInterval("run", .beginState(id: OSSignpostID(run.id)), "\(String(describing: outcome))")
    }
  }
#endif
