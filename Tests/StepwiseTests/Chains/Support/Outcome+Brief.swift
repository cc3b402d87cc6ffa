// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

extension Outcome {
  /// The outcome in a few words, as tests compare it.
  var brief: String {
    switch self {
    case .resolved(let value): "resolved \(value)"
    case .failed(let error): "failed \(error)"
    case .cancelled(let cancellation):
      "cancelled \(cancellation.reason ?? "-")" + (cancellation.underlyingError.map { " \($0)" } ?? "")
    }
  }
}

extension Result {
  /// The result in a few words, as tests compare it.
  var brief: String {
    switch self {
    case .success(let value): "success \(value)"
    case .failure(let error): "failure \(error)"
    }
  }
}

/// Runs something and keeps how it ended.
nonisolated(nonsending) func resultOf<Value>(
  _ body: nonisolated(nonsending) () async throws -> Value
) async -> Result<Value, any Error> {
  do { return .success(try await body()) } catch { return .failure(error) }
}

/// Waits for the end of a run and lists its events in a few words, durations left out.
nonisolated(nonsending) func briefEvents<Value>(of run: Run<Value>) async -> [String] {
  var events: [String] = []
  for await event in run.events {
    switch event {
    case .started: events.append("started")
    case .stepStarted(let step): events.append("begin \(step)")
    case .stepProgress(let step, let fraction): events.append("progress \(step) \(fraction)")
    case .stepRetrying(let step, let attempt): events.append("retry \(step) \(attempt)")
    case .stageReached(let step, let stage): events.append("stage \(step) \(stage)")
    case .stepFinished(let step, _, let error): events.append("end \(step)" + (error.map { " \($0)" } ?? ""))
    case .timedOut(let step, _): events.append("timed out \(step)")
    case .abandoned(let step, _): events.append("abandoned \(step)")
    case .replayed(let step): events.append("replayed \(step)")
    case .undone(let step, let error): events.append("undone \(step)" + (error.map { " \($0)" } ?? ""))
    case .ended(let state): events.append(state.brief)
    }
  }
  return events
}
