// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// A job may have several handlers of each kind, called in the order in which they were attached; `onError` calls one.
extension Job {
  /// Calls a handler when the job is launched.
  ///
  /// The handler also runs while the job waits in its queue. It is called before every other handler.
  ///
  /// - Parameter handler: Called on the main actor.
  /// - Returns: A new job; this one is unchanged.
  public func onStart(_ handler: @escaping @MainActor () -> Void) -> Job {
    setting { $0.handlers.onStart.append(handler) }
  }

  /// Calls a handler with each update that the work reports, in order.
  ///
  /// - Parameter handler: Called on the main actor.
  /// - Returns: A new job; this one is unchanged.
  public func onUpdate(_ handler: @escaping @MainActor (Update) -> Void) -> Job {
    setting { settings in
      settings.handlers.onUpdate.append { box in
        if let update = (box as? Box<Update>)?.value { handler(update) }
      }
    }
  }

  /// Calls a handler when `timeout` or `deadline` ended the job.
  ///
  /// A `TimeoutError` that the work itself throws is handled like any other error. In a job without this handler, the
  /// job's own timeout is passed to `onError`.
  ///
  /// - Parameter handler: Called on the main actor, before `onFinish`.
  /// - Returns: A new job; this one is unchanged.
  public func onTimeout(_ handler: @escaping @MainActor () -> Void) -> Job {
    setting { $0.handlers.onTimeout.append(handler) }
  }

  /// Calls a handler when the job failed with an error of one type and no other handler is more specific.
  ///
  /// Only one error handler is called: the one for the error's own type, otherwise for the most derived of its base
  /// classes, otherwise for a protocol that it conforms to, otherwise for all errors. Among equals, the one that was
  /// attached first is called.
  ///
  /// - Parameters:
  ///   - type: The type of error: a concrete type, a base class, or a protocol such as `(any NetworkProblem).self`.
  ///   - handler: Called on the main actor, before `onFinish`.
  /// - Returns: A new job; this one is unchanged.
  public func onError<Failure>(of type: Failure.Type, _ handler: @escaping @MainActor (Failure) -> Void) -> Job {
    setting { $0.handlers.onError.append(JobErrorHandler(type, handler)) }
  }

  /// Calls a handler when the job failed with an error that no other handler matches.
  ///
  /// - Parameter handler: Called on the main actor, before `onFinish`.
  /// - Returns: A new job; this one is unchanged.
  public func onError(_ handler: @escaping @MainActor (any Error) -> Void) -> Job {
    onError(of: (any Error).self, handler)
  }

  /// Calls a handler when the job has completed, unless it was cancelled; called after all other handlers.
  ///
  /// - Parameter handler: Called on the main actor with the outcome of the job.
  /// - Returns: A new job; this one is unchanged.
  public func onFinish(_ handler: @escaping @MainActor (Outcome<Output>) -> Void) -> Job {
    setting { $0.handlers.onFinish.append { outcome, output in handler(outcome.map { output.copy() }) } }
  }

  func setting(_ change: (inout JobSettings) -> Void) -> Job {
    var job = self
    change(&job.settings)
    return job
  }
}
