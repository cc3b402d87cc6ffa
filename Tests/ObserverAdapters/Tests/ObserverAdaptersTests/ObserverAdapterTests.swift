// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import InMemoryTracing
import Logging
import MetricsTestKit
import Stepwise
import Synchronization
import Testing
import Tracing

@testable import CoreMetrics
@testable import ObserverAdapters

/// The adapters of the article deliver what runs report, to the packages that they adapt.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ObserverAdapterTests {
  struct Busy: Error {}

  /// A chain whose second step fails once, and which nests another.
  private func chain() -> Chain<Int, Int> {
    let isFirst = Mutex(true)
    let once: @Sendable () throws -> Void = {
      if isFirst.withLock({ isFirst in
        defer { isFirst = false }
        return isFirst
      }) {
        throw Busy()
      }
    }
    return Chain("first") { (number: Int) in number }
      .appending(
        Chain("flaky") { (number: Int) in
          try once()
          return number
        }
        .retry(RetryPolicy(maxAttempts: 2, backoff: .none)).named("inner")
      )
      .named("outer")
  }

  @Test func `An observer logs`() async throws {
    let log = Log()
    let logger = Logger(label: "test") { _ in LogRecorder(log: log) }
    _ = try await chain().observed(by: LoggingObserver(logger: logger)).run(1)
    #expect(
      log.lines.withLock { $0 } == [
        "debug first done", "debug flaky failed", "warning flaky: attempt 1 failed: Busy()", "debug flaky done",
        "info inner succeeded with Int", "info outer succeeded with Int",
      ]
    )
  }

  @Test func `An observer records metrics`() async throws {
    let metrics = TestMetrics()
    MetricsSystem.bootstrapInternal(metrics)
    _ = try await chain().observed(by: MetricsObserver()).run(1)
    let dimensions = [("run", "inner"), ("step", "flaky")]
    #expect(try metrics.expectTimer("stepwise_step_duration", dimensions).values.count == 2)
    #expect(try metrics.expectCounter("stepwise_failed_attempts", dimensions).totalValue == 1)
    let ends = try metrics.expectTimer("stepwise_run_duration", [("run", "outer"), ("outcome", "succeeded")])
    #expect(ends.values.count == 1)
  }

  @Test func `An observer traces`() async throws {
    let tracer = InMemoryTracer()
    InstrumentationSystem.bootstrap(tracer)
    _ = try await chain().observed(by: TracingObserver()).run(1)
    let spans = tracer.finishedSpans
    #expect(spans.map(\.operationName) == ["inner", "outer"])
    #expect(spans[0].parentSpanID == spans[1].spanID)
    #expect(spans[0].events.map(\.name) == ["flaky", "flaky"])
    #expect(spans[0].errors.count == 1)
    #expect(tracer.activeSpans.isEmpty)
  }
}

private final class Log: Sendable {
  let lines = Mutex<[String]>([])
}

private struct LogRecorder: LogHandler {
  let log: Log
  var metadata = Logger.Metadata()
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(
    level: Logger.Level,
    message: Logger.Message,
    metadata: Logger.Metadata?,
    source: String,
    file: String,
    function: String,
    line: UInt
  ) {
    log.lines.withLock { $0.append("\(level) \(message)") }
  }
}
