// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

extension ChainEvent {
  /// A line that identifies an event; durations are omitted.
  var line: String {
    switch self {
    case .started: "started"
    case .stepStarted(let step): "\(step) started"
    case .stepProgress(let step, let fraction): "\(step) at \(fraction)"
    case .stepRetrying(let step, let attempt): "\(step) retrying \(attempt)"
    case .stageReached(let step, let stage): "\(step) reached \(stage)"
    case .stepFinished(let step, _, let error): "\(step) finished\(error.map { " \($0)" } ?? "")"
    case .timedOut(let step, _): "\(step) timed out"
    case .abandoned(let step, _): "\(step) abandoned"
    case .replayed(let step): "\(step) replayed"
    case .undone(let step, let error): "\(step) undone\(error.map { " \($0)" } ?? "")"
    case .ended(.resolved): "ended resolved"
    case .ended(.failed(let error)): "ended failed \(error)"
    case .ended(.cancelled(let cancellation)): "ended cancelled \(cancellation.reason ?? "-")"
    }
  }
}
