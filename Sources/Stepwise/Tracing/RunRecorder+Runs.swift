// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension RunRecorder {
  /// Drops the record, because the handle and all subscribers are gone; a trace still needs it.
  func forget() {
    guard !isTraced else { return }
    _ = broadcast.update { $0.state.forgetAll() }
  }

  /// Returns the recorder of a run that starts; nil when nothing records it.
  ///
  /// - Parameters:
  ///   - program: The program of the run.
  ///   - own: Its own recorder, if it has a handle.
  ///   - outer: The recorder of the run that contains it, if one does.
  ///   - nesting: What it is to that run; nil when none contains it.
  ///   - firstStep: The index of its first step in that run.
  /// - Returns: The recorder.
  static func make(
    for program: Program,
    own: RunRecorder?,
    in outer: RunRecorder?,
    as nesting: RunLog.Nesting?,
    firstStep: Int
  ) -> RunRecorder? {
    guard let recorder = own ?? outer?.nested(program) else {
      guard let watch = RunWatch.make(for: program, in: nil, isNested: false) else { return nil }
      let recorder = RunRecorder(of: program, firstStep: firstStep, watch)
      recorder.start(program, .none, firstStep, at: recorder.created)
      return recorder
    }
    let time = nesting == nil ? recorder.created : recorder.now()
    recorder.start(program, nesting ?? .none, firstStep, at: time)
    return recorder
  }

  private func nested(_ program: Program) -> RunRecorder {
    guard watch != nil || !program.observers.isEmpty else { return self }
    let inner = RunWatch.make(for: program, in: watch, isNested: true)
    return RunRecorder(self, watch: inner, condition: condition)
  }

  private func start(_ program: Program, _ nesting: RunLog.Nesting, _ firstStep: Int, at time: Duration) {
    log(.runStarted(program.identity, nesting), firstStep, number: program.stepCount, at: time)
    guard let watch else { return }
    log(.runIdentified(watch.run.id), firstStep, at: time)
    watch.signals.start(watch, at: time) { isOpen }
  }

  /// Whether observers or traces need the run.
  var isWatched: Bool { watch != nil }

  /// The scope of the runs that are started in this one; nil when nothing observes it.
  var scope: ObservationScope? { watch?.scope }

  /// Notifies the observers that the run has started, if nothing has notified them yet.
  func enter() { watch?.signals.deliver() }

  /// Records the outcome of a run, after its handlers.
  ///
  /// - Parameters:
  ///   - outcome: The outcome.
  ///   - source: Through what it was cancelled.
  ///   - steps: Its steps.
  ///   - value: Returns its value, for observers.
  func leave(_ outcome: Outcome<Void>, through source: String?, _ steps: Range<Int>, value: () -> any Sendable) {
    let time = now()
    let event: RunLog.Event =
      switch outcome {
      case .resolved: .runSucceeded
      case .failed(let error): .runFailed(failure(error))
      case .cancelled(let cancellation):
        .runCancelled(CancellationCause(source: source ?? "", reason: cancellation.reason))
      }
    log(event, steps.lowerBound, number: steps.count, at: time)
    if let watch { watch.signals.end(watch, at: time, outcome: outcome.map(value)) }
  }

  /// A copy of the log and of what is needed to read it.
  ///
  /// - Parameter time: The current time; nil for that of the clock of the run.
  /// - Returns: The copy.
  func reading(at time: Duration? = nil) -> RunReading {
    let (log, errors, outcome) = broadcast.update { ($0.state.log, $0.state.latestErrors, $0.state.ended) }
    var outcomeError: (any Error)?
    if case .failed(let error) = outcome { outcomeError = error }
    return RunReading(
      id: watch?.run.id,
      parentID: watch?.run.parentID,
      name: identity?.name,
      steps: firstStep..<firstStep + stepCount,
      step: step,
      start: created,
      now: time ?? now(),
      entries: log.all,
      droppedCount: log.droppedCount,
      latestErrors: errors,
      error: outcomeError
    )
  }
}

/// One step of one run, as code inside the step sees it.
struct RecordedStep: StepReporting {
  let recorder: RunRecorder
  let index: Int

  func report(_ fraction: Double) { recorder.report(index, fraction) }
  func retrying(attempt: Int, after error: any Error) {
    recorder.retrying(index, attempt: attempt, after: error)
  }
  func reporting(while isOpen: @escaping @Sendable () -> Bool) -> any StepReporting {
    RecordedStep(recorder: recorder.recording(while: isOpen), index: index)
  }
}
