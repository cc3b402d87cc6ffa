// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Frame {
  /// Executes the segment that the current operation covers; when the time is up, it is cancelled and awaited.
  mutating func execute(in attempt: Attempt?, within limit: TimeLimit) async throws {
    let steps = CoveredSteps(coveredBy: &self, in: attempt)
    do {
      try await limited(to: limit) {
        steps.currentStep
      } operation: {
        try await steps.execute()
      }
      slot = steps.takeValue()
    } catch {
      recording?.timedOut(run.firstStep..<stepIndex, error: error)
      throw error
    }
  }

  /// Executes the segment that the current operation covers in an attempt; when the time is up, it is cancelled and no
  /// longer awaited.
  ///
  /// If they then return a value, `discard` receives it, shielded from that cancellation.
  mutating func execute<Output: Sendable>(
    in attempt: Attempt,
    abandonedAfter limit: TimeLimit,
    discarding discard: @escaping @Sendable (Output) async -> Void
  ) async throws {
    let steps = CoveredSteps(coveredBy: &self, in: attempt)
    let end = Once<(result: Result<Void, any Error>, isExpired: Bool)>()
    let isCancelled = Task.isCancelled
    let work = spawn {
      // Before its first step, which the waiting task's cancellation might not precede.
      if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
      let result = await Result.of { try await steps.execute { end.settled == nil } }
      await attempt.calls.close(hasValue: true)
      guard !end.settle((result, isExpired: false)), case .success = result else { return }
      await Scope.withCancellationShield {
        var late = steps.takeValue()
        await discard(late.take())
      }
    }
    let timer = spawn {
      guard (try? await limit.sleep()) != nil else { return }
      let error = TimeoutError(step: steps.currentStep, duration: limit.duration)
      guard end.settle((.failure(error), isExpired: true)) else { return }
      attempt.abandon()
      work.cancel()
    }
    defer { timer.cancel() }
    let (result, isExpired) = await withTaskCancellationHandler {
      await raisingPriority(of: work) { await end.valueIgnoringCancellation() }
    } onCancel: {
      work.cancel()
    }
    if case .failure(let error) = result {
      if isExpired { recording?.abandon(run.firstStep..<stepIndex, error: error) }
      run.setFork(nil)
      throw error
    }
    slot = steps.takeValue()
  }
}

/// Steps that run in their own task: those that a modifier covers, under a timer or abandoned.
private final class CoveredSteps: Sendable {
  private let core: ChainCore
  private let run: Execution
  private let segment: Int
  private let recording: Recording?
  private let attempt: Attempt?
  /// The input until the steps run, and the output once they have ended with one.
  private let value: Lock<ValueSlot>

  init(coveredBy frame: inout Frame, in attempt: Attempt?) {
    core = frame.core
    run = frame.run
    segment = frame.covered
    recording = frame.recording
    value = Lock(exchange(&frame.slot, with: ValueSlot()))
    self.attempt = attempt
  }

  func takeValue() -> ValueSlot { value.withLock { exchange(&$0, with: ValueSlot()) } }

  private func put(_ output: consuming ValueSlot) {
    var output: ValueSlot? = output
    value.withLock { $0 = output.take() ?? ValueSlot() }
  }

  /// Runs the steps, and records nothing of them once the run no longer awaits them.
  @concurrent func execute(isAwaited: (@Sendable () -> Bool)? = nil) async throws {
    let recording = isAwaited.map { self.recording?.recording(while: $0) } ?? self.recording
    var frame = Frame(core, run, slot: takeValue(), recording: recording)
    try await frame.execute(segment: segment, in: attempt)
    put(frame.slot)
  }

  var currentStep: String { run.currentStep.description }
}
