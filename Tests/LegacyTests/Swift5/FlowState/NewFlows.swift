// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting

/// A file of the new world.
@MainActor
enum NewFlows {
  /// Asks a step that has come from the old world, in a flow, and tells how that ends.
  static func run(_ step: FlowStep<String, Int>, with content: String, telling seen: Recorder<String>) -> Run<Void> {
    let flow = Flow<Void>("new flow", first: step, content: content).on(step) { number, _ in
      seen.record("new flow: \(number)")
      return .finish
    }
    let run = flow.start()
    run.onEnd(telling: seen)
    return run
  }

  static func step(telling seen: Recorder<String>, keeping handlers: Recorder<FlowStepHandler<String, Int>>)
    -> FlowStep<String, Int>
  {
    FlowStep("new step") { handler in
      handlers.record(handler)
      handler.onContent { content in seen.record("new shows \(content)") }
    }
  }

  static func handlers() -> Recorder<FlowStepHandler<String, Int>> { Recorder() }

  static func flow(answering number: Int) -> Flow<Int> {
    let only = FlowStep<Void, Int>("only") { handler in handler.complete(number) }
    return Flow<Int>("new flow", first: only)
  }

  static func failingFlow() -> Flow<Int> {
    let only = FlowStep<Void, Int>("only") { handler in handler.back() }
    return Flow<Int>("new flow", first: only)
  }
}

extension Run {
  fileprivate func onEnd(telling seen: Recorder<String>) {
    Task {
      switch await outcome {
      case .resolved: seen.record("resolved")
      case .failed(FlowError.back): seen.record("back")
      case .failed(FlowError.abandoned): seen.record("abandoned")
      case .failed: seen.record("failed")
      case .cancelled(let cancellation): seen.record("cancelled: \(cancellation.reason ?? "")")
      }
    }
  }
}
