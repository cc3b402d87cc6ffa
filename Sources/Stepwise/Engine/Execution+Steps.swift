// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Execution {
  /// The current step, the first one of concurrent chains; the step that ended last when none is running.
  var currentStep: ChainStep {
    var run = self
    while let inner = run.state.withLock({ $0.fork })?.firstRunning { run = inner }
    return run.plannedStep
  }

  /// A call of `step` has thrown.
  func failCall(_ name: String, _ error: any Error) {
    let step = ChainStep(index: stepIndex, name: name)
    add(FailedCall(step: step, error: error, isInterrupted: Task.isCancelled))
  }

  /// A step of the run that this one waits for has failed.
  func fail(at step: ChainStep, _ error: any Error) {
    let index = firstStep + step.index
    stepIndex = index
    add(FailedCall(step: ChainStep(index: index, name: step.name), error: error, isInterrupted: false))
  }

  /// Why a call of `step` may not begin: the run is cancelled, decided or has abandoned the work, or it has ended.
  ///
  /// Code that has outlived its run is not cancelled, and a loop would take the error for its own cancellation.
  func refusal(in attempt: Attempt?) -> any Error {
    let hasEnded = isCompleted && !Task.isCancelled && attempt?.isAbandoned != true
    let isAbandoned = sequence(first: self, next: \.container).contains { $0.origin?.attempt?.isAbandoned ?? false }
    return hasEnded && !isAbandoned ? ChainError.runHasEnded : CancellationError()
  }

  func setFork(_ new: Fork<Execution>?) { _ = state.withLock { exchange(&$0.fork, with: new) } }
}
