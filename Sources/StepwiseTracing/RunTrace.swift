// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// Shows what a run did: what ran, when, on which attempt and with which outcome.
///
/// Use it to see why a run took long, or to show a failure to someone who has your log only. A started run has one,
/// `Run.trace`. To trace plain runs, and everything that they start, run them in
/// ``trace(capacity:clock:isolation:_:)``. The memory is bounded: the newest events are kept, the others counted.
///
/// ```swift
/// let run = checkout.start(cart)
/// _ = await run.outcome
/// print(run.trace.text)
/// ```
public struct RunTrace: Sendable {
  /// What a span stands for.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    /// The word for the kind in ``RunTrace/chromeTrace``.
    public let rawValue: String

    /// Creates a kind.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The run of a chain.
    public static let run = Kind(rawValue: "run")
    /// One attempt of a step.
    public static let step = Kind(rawValue: "step")
  }

  /// The state of a run or a step.
  public struct Status: RawRepresentable, Hashable, Sendable {
    /// The word for the status in every format.
    public let rawValue: String

    /// Creates a status.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// It has not ended.
    public static let running = Status(rawValue: "running")
    /// It ended with a value.
    public static let succeeded = Status(rawValue: "succeeded")
    /// It ended with an error.
    public static let failed = Status(rawValue: "failed")
    /// It was cancelled.
    public static let cancelled = Status(rawValue: "cancelled")
    /// The run stopped waiting for it.
    public static let abandoned = Status(rawValue: "abandoned")
  }

  /// Something that happened at one time, for example a failed attempt or an undo.
  ///
  /// You see it below its step in ``RunTrace/text``.
  public struct Note: Hashable, Sendable {
    /// The time since the start of the trace.
    public let time: Duration
    /// What happened.
    public let text: String
    /// The position among the events of the run.
    let order: Int
  }

  /// A run, or one attempt of a step.
  ///
  /// Your trace has one for each attempt, so a retried step has several.
  public struct Span: Sendable {
    /// Whether it is a run or a step.
    public let kind: Kind
    /// The name.
    public let name: String
    /// What a nested run is to the run that contains it: `chain`, `zip` or `race`.
    public let role: String?
    /// The time since the start of the trace.
    public let start: Duration
    /// The time until it ended or, while it is running, until the trace was taken.
    public let duration: Duration
    /// How many times the step has started, starting at 1.
    public let attempt: Int
    /// How it ended.
    public let status: Status
    /// The error, or through what it was cancelled and why; `replayed` for a stored value that was returned.
    ///
    /// For errors of attempts that were retried it is the type of the error, unless the run is traced explicitly.
    public let detail: String?
    /// Whether the step was undone after it had completed.
    public let isUndone: Bool
    /// Notes that were recorded during the span, in order.
    public internal(set) var notes: [Note]
    /// The steps and runs in it, in the order of their starts.
    public internal(set) var children: [Span]
    /// The position of its start among the events of the run.
    let order: Int

    /// The time since the start of the trace at which it ended.
    public var end: Duration { start + duration }
  }

  /// The runs that no other run of the trace contains, in the order of their starts.
  public let runs: [Span]

  /// The number of events that were dropped because the trace was full.
  public let droppedEventCount: Int

  /// The number of runs that were dropped because the trace was full.
  public let droppedRunCount: Int

  /// The time from the first start to the last end.
  public var duration: Duration {
    var end = Duration.zero
    var pending = runs
    while let span = pending.popLast() {
      end = max(end, span.end)
      pending += span.children
    }
    return end
  }
}

extension Run {
  /// What has happened in the run so far, with times.
  ///
  /// Use it around code of yours that runs chains, such as a request handler or a test. Tracing is always on for
  /// started runs. Runs that a step starts are part of the trace only in ``trace(capacity:clock:isolation:_:)``.
  public var trace: RunTrace { RunTrace(of: [reading], droppedRunCount: 0) }
}

/// The trace of the runs that a body started, and what it returned or threw.
///
/// You can read ``trace`` even when the body threw.
public struct TracedResult<Value> {
  /// What the body returned or threw.
  public let result: Result<Value, any Error>

  /// What ran, up to the end of the body.
  public let trace: RunTrace

  /// What the body returned.
  ///
  /// - Throws: What the body threw.
  public var value: Value { get throws { try result.get() } }
}

extension TracedResult: Sendable where Value: Sendable {}

extension TracedResult: CustomStringConvertible, CustomDebugStringConvertible {
  /// How the body ended, and the text of the trace; names the type of the value and never contains it.
  public var description: String { "\(outcome)\n\(trace.text)" }

  /// How the body ended, with the value, and the text of the trace.
  public var debugDescription: String { "\(String(reflecting: outcome))\n\(trace.text)" }

  private var outcome: Outcome<Value> {
    switch result {
    case .success(let value): .resolved(value)
    case .failure(let error): .failed(error)
    }
  }
}

/// Traces every run that the body starts, also in tasks that it creates.
///
/// The result has the trace also when the body throws. A run that has not ended when the body returns is part of the
/// trace with the status ``RunTrace/Status/running``.
///
/// ```swift
/// let traced = await trace { try await checkout.run(cart) }
/// print(traced.trace.text)
/// let order = try traced.value
/// ```
///
/// - Parameters:
///   - capacity: The number of events of each run that are retained; of at most 256 runs: the first and the newest.
///   - clock: The clock that measures the times, for example the manual clock of a test.
///   - isolation: The isolation of the body, by default the caller's.
///   - body: The work to run, on the current task.
/// - Returns: What the body returned or threw, and the trace.
public func trace<Value>(
  capacity: Int = 4_096,
  clock: any Clock<Duration> = ContinuousClock(),
  isolation: isolated (any Actor)? = #isolation,
  _ body: nonisolated(nonsending) () async throws -> Value
) async -> TracedResult<Value> {
  let runs = await collectingRuns(capacity: capacity, maxRuns: 256, clock: clock, body)
  return TracedResult(result: runs.result, trace: RunTrace(of: runs.readings, droppedRunCount: runs.droppedCount))
}
