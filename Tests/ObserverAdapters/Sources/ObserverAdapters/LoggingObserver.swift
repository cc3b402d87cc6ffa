// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Logging
import Stepwise

struct LoggingObserver: RunObserver {
  let logger: Logger

  func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) {
    logger.debug("\(step) \(error == nil ? "done" : "failed")", metadata: metadata(step.run, duration))
  }

  func attemptFailed(_ step: ObservedStep, attempt: Int, error: any Error) {
    logger.warning("\(step): attempt \(attempt) failed: \(error)", metadata: metadata(step.run))
  }

  func runEnded(_ run: ObservedRun, duration: Duration, outcome: ChainState) {
    if case .failed(let error) = outcome {
      logger.error("\(run.name) failed: \(error)", metadata: metadata(run, duration))
    } else {
      logger.info("\(run.name) \(outcome)", metadata: metadata(run, duration))
    }
  }

  private func metadata(_ run: ObservedRun, _ duration: Duration? = nil) -> Logger.Metadata {
    ["run": "\(run.id)", "parent": "\(run.parentID ?? 0)", "duration": "\(duration ?? .zero)"]
  }
}
