// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// Handlers of one kind may be any number, which are called in the order in which they were attached; `onError` apart.
extension Job {
  /// Calls a handler when the job was launched.
  ///
  /// That is also while it waits in its queue. It comes before every other handler.
  ///
  /// - Parameter handler: Called on the main actor.
  /// - Returns: A new job; this one is unchanged.
  public func onStart(_ handler: @escaping @MainActor () -> Void) -> Job {
    setting { $0.beginning.onStart.append(handler) }
  }

  /// Calls a handler with each update that the work tells, in their order.
  ///
  /// - Parameter handler: Called on the main actor.
  /// - Returns: A new job; this one is unchanged.
  public func onUpdate(_ handler: @escaping @MainActor (Update) -> Void) -> Job {
    setting { settings in
      settings.beginning.onUpdate.append { box in
        if let update = JobBox<Update>.value(in: box) { handler(update) }
      }
    }
  }

  /// Calls a handler when `timeout` or `deadline` ended the job.
  ///
  /// A `TimeoutError` that the work itself throws is an error like any other. A job without this handler gives its own to
  /// `onError`.
  ///
  /// - Parameter handler: Called on the main actor, before `onFinish`.
  /// - Returns: A new job; this one is unchanged.
  public func onTimeout(_ handler: @escaping @MainActor () -> Void) -> Job {
    setting { $0.ending.onTimeout.append(handler) }
  }

  /// Calls a handler when the job failed with an error of one type, and no other handler is more specific.
  ///
  /// One handler alone is called: that for the error's own type; else that for the most derived of its base classes; else
  /// that for a protocol it conforms to; else the one for all errors. Among equals it is the one that was attached first.
  ///
  /// - Parameters:
  ///   - type: The type of error: a concrete one, a base class, or a protocol, as `(any NetworkProblem).self`.
  ///   - handler: Called on the main actor, before `onFinish`.
  /// - Returns: A new job; this one is unchanged.
  public func onError<Failure>(of type: Failure.Type, _ handler: @escaping @MainActor (Failure) -> Void) -> Job {
    setting { $0.ending.onError.append(JobErrorHandler(type, handler)) }
  }

  /// Calls a handler when the job failed with an error that has no handler of its own.
  ///
  /// - Parameter handler: Called on the main actor, before `onFinish`.
  /// - Returns: A new job; this one is unchanged.
  public func onError(_ handler: @escaping @MainActor (any Error) -> Void) -> Job {
    onError(of: (any Error).self, handler)
  }

  /// Calls a handler when the job has ended, in whatever way but by a cancel: the last of all.
  ///
  /// - Parameter handler: Called on the main actor; it is told how the job has ended.
  /// - Returns: A new job; this one is unchanged.
  public func onFinish(_ handler: @escaping @MainActor (Outcome<Output>) -> Void) -> Job {
    setting { settings in
      settings.ending.onFinish.append { outcome in
        switch outcome {
        case .resolved(let box): if let value = JobBox<Output>.value(in: box) { handler(.resolved(value)) }
        case .failed(let error): handler(.failed(error))
        case .cancelled(let cancellation): handler(.cancelled(cancellation))
        }
      }
    }
  }

  func setting(_ change: (inout JobSettings) -> Void) -> Job {
    var job = self
    change(&job.settings)
    return job
  }
}
