// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The settings of a job's modifiers.
struct JobSettings: Sendable {
  struct Limit: Sendable {
    let duration: Duration
    let clock: any Clock<Duration>
  }

  var timeout: Limit?
  var deadline: Limit?
  var owner: JobOwner?
  var priority: TaskPriority?
  var beginning = JobChannel.Handlers()
  var ending = Ending()

  /// The handlers for the completion.
  struct Ending: Sendable {
    var onTimeout: [@MainActor () -> Void] = []
    var onError: [JobErrorHandler] = []
    var onFinish: [@MainActor (Outcome<JobValue>) -> Void] = []

    var isEmpty: Bool { onTimeout.isEmpty && onError.isEmpty && onFinish.isEmpty }

    /// Returns the handler calls for an outcome, in order.
    ///
    /// On the main actor, so that conformances isolated to it are found.
    ///
    /// - Parameters:
    ///   - outcome: The outcome of the job.
    ///   - isTimeout: Whether one of the job's own timers ended it.
    /// - Returns: The calls; none for a cancelled job.
    @MainActor func calls(for outcome: Outcome<JobValue>, isTimeout: Bool) -> [@MainActor () -> Void] {
      var calls: [@MainActor () -> Void] = []
      switch outcome {
      case .cancelled: return []
      case .resolved: break
      case .failed(let error):
        if isTimeout, !onTimeout.isEmpty {
          calls = onTimeout
        } else if let handler = JobErrorHandler.mostSpecific(of: onError, for: error) {
          calls = [{ handler(error) }]
        }
      }
      return calls + onFinish.map { handler in { handler(outcome) } }
    }
  }
}

extension JobSettings.Limit {
  /// Starts the timer.
  var timer: @Sendable () async throws -> Void { Self.timer(for: duration, on: clock) }

  private static func timer<C: Clock<Duration>>(
    for duration: Duration,
    on clock: C
  ) -> @Sendable () async throws -> Void {
    let end = clock.now.advanced(by: duration.clamped)
    return { try await clock.sleep(until: end, tolerance: nil) }
  }
}
