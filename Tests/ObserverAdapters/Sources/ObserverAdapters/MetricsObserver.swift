// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Metrics
import Stepwise

struct MetricsObserver: RunObserver {
  func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) {
    let dimensions = [("run", step.run.name), ("step", "\(step)")]
    Timer(label: "stepwise_step_duration", dimensions: dimensions).record(duration: duration)
  }

  func attemptFailed(_ step: ObservedStep, attempt: Int, error: any Error) {
    Counter(label: "stepwise_failed_attempts", dimensions: [("run", step.run.name), ("step", "\(step)")]).increment()
  }

  func runEnded(_ run: ObservedRun, duration: Duration, outcome: ChainState) {
    let word =
      switch outcome {
      case .resolved: "succeeded"
      case .failed: "failed"
      case .cancelled: "cancelled"
      }
    Timer(label: "stepwise_run_duration", dimensions: [("run", run.name), ("outcome", word)]).record(duration: duration)
  }
}
