// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport
internal import Stepwise

// A closure that says no types fits those of any type as well: so the one that is told anything is the favoured one.
@available(*, deprecated)
extension Elevate {
  /// Says, in the block of `async`, what is to be done in the background.
  ///
  /// The block finds its arguments in `taskArgs`, and tells how it gets on by `yield`. What it returns, or throws, is
  /// what `onFinish` is told. It may block its thread. It must not touch the screen.
  ///
  /// - Parameter body: The work.
  @available(*, deprecated, message: "Pass the work to Job(name) { input, job in … }")
  @preconcurrency
  public func task<Output>(_ body: sending @escaping () async throws -> sending Output) {
    let work = Work(Sent(body))
    TaskDraft.set { $0.work = work }
  }

  /// Says, in the block of `task(_:)`, what is to be done in the background.
  ///
  /// The block finds its arguments in `taskArgs`, and tells how it gets on by `update`. What it returns, or throws, is
  /// what `onFinish` is told. It may block its thread. It must not touch the screen.
  ///
  /// - Parameter body: The work.
  @available(*, deprecated, message: "Pass the work to Job(name) { input, job in … }")
  @preconcurrency
  public func background<Output>(_ body: sending @escaping () async throws -> sending Output) {
    let work = Work(Sent(body))
    TaskDraft.set { $0.work = work }
  }

  /// Limits the time of the work, counted from when it begins.
  ///
  /// The original counted the wait in the queue as well, and looked at the time at HTTP calls only.
  ///
  /// - Parameter seconds: How long it may take.
  @available(*, deprecated, message: "Use timeout(.seconds(…)) of Job")
  public func timeout(_ seconds: Double) { limit(seconds, clock: ContinuousClock()) }

  /// Limits the time of the work, as measured by a clock of a test.
  package func timeout(_ seconds: Double, clock: any Clock<Duration>) { limit(seconds, clock: clock) }

  private func limit(_ seconds: Double, clock: any Clock<Duration>) {
    // What is no number limits nothing, and a century is long enough.
    let duration = seconds.isNaN ? nil : Duration.seconds(min(max(seconds, 0), 3.2e9))
    TaskDraft.set { draft in
      draft.timeout = duration
      draft.clock = clock
    }
  }

  /// Sets the handler that is called when the task was launched, also while it waits in the queue.
  ///
  /// - Parameter handler: Called on the main actor, before all others.
  @available(*, deprecated, message: "Use onStart(_:) of Job")
  @preconcurrency
  public func onStart(_ handler: @escaping @MainActor () -> Void) {
    TaskDraft.set { $0.onStart = handler }
  }

  /// Sets the handler that is called when the task has ended, in whatever way but by a cancel: the last of all.
  ///
  /// - Parameter handler: Called on the main actor, with what the work returned, or with what it threw.
  @available(*, deprecated, message: "Use onFinish(_:) of Job, which is told an Outcome")
  @preconcurrency
  public func onFinish(_ handler: @escaping @MainActor (_ result: Any?, _ error: (any Error)?) -> Void) {
    TaskDraft.set { $0.onFinish = { value, error in handler(value?.content, error) } }
  }

  /// Sets the handler that is called when the task has ended, with a result of one type.
  ///
  /// A result of another type is an error here.
  ///
  /// - Parameter handler: Called on the main actor, with what the work returned, or with what it threw.
  @available(*, deprecated, message: "Use onFinish(_:) of Job, which is told an Outcome")
  @preconcurrency
  @_disfavoredOverload
  public func onFinish<Result>(_ handler: @escaping @MainActor (_ result: Result?, _ error: (any Error)?) -> Void) {
    TaskDraft.set { draft in
      draft.onFinish = { value, error in
        guard let content = value?.content else { return handler(nil, error) }
        guard let result = content as? Result else {
          return handler(nil, WrongValue("the result", Result.self, found: content))
        }
        handler(result, error)
      }
    }
  }
}
