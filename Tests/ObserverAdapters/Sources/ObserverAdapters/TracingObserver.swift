// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import Synchronization
import Tracing

final class TracingObserver: RunObserver {
  private let spans = Mutex<[UInt64: any Span]>([:])

  func runStarted(_ run: ObservedRun) {
    let parent = run.parentID.flatMap { openSpan(of: $0)?.context }
    let span = InstrumentationSystem.tracer.startSpan(run.name, context: parent ?? .current ?? .topLevel)
    spans.withLock { $0[run.id] = span }
  }

  func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) {
    openSpan(of: step.run.id)?.addEvent(SpanEvent(name: "\(step)", attributes: ["duration": "\(duration)"]))
  }

  func attemptFailed(_ step: ObservedStep, attempt: Int, error: any Error) {
    openSpan(of: step.run.id)?.recordError(error, attributes: ["step": "\(step)", "attempt": .int64(Int64(attempt))])
  }

  func runEnded(_ run: ObservedRun, duration: Duration, outcome: ChainState) {
    guard let span = spans.withLock({ $0.removeValue(forKey: run.id) }) else { return }
    if case .failed(let error) = outcome { span.recordError(error) }
    span.end()
  }

  private func openSpan(of id: UInt64) -> (any Span)? { spans.withLock { $0[id] } }
}
