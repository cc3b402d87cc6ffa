// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport

@available(*, deprecated)
extension Progression {
  /// Runs the stages from this one on, and calls a handler where the last one ends.
  ///
  /// - Parameters:
  ///   - qos: The quality of service of the global queue of each stage.
  ///   - completion: Called with a closure that returns the result or throws the error of a stage.
  @available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise, or its execute")
  @preconcurrency
  public func execute(
    qos: DispatchQoS.QoSClass = .utility,
    _ completion: sending @escaping (_ useResult: @escaping () throws -> Result) -> Void
  ) {
    deferred(Performer(qos), progress: nil).pass(to: completion)
  }

  /// Runs the stages from this one on, and calls a handler where the last one ends.
  ///
  /// - Parameters:
  ///   - queue: The queue of each stage.
  ///   - completion: Called with a closure that returns the result or throws the error of a stage.
  @available(*, deprecated, message: "Use `try await run()` of Progression, under withTaskExecutorPreference")
  @preconcurrency
  public func execute(
    on queue: DispatchQueue,
    _ completion: sending @escaping (_ useResult: @escaping () throws -> Result) -> Void
  ) {
    deferred(Performer(queue), progress: nil).pass(to: completion)
  }

  /// Runs the stages from this one on, and calls a handler where the last one ends.
  ///
  /// - Parameters:
  ///   - performer: Where each stage runs.
  ///   - completion: Called with a closure that returns the result or throws the error of a stage.
  @available(*, deprecated, message: "Use `try await run()` of Progression, under withTaskExecutorPreference")
  @preconcurrency
  public func execute(
    performer: sending @escaping AsyncPerformer,
    _ completion: sending @escaping (_ useResult: @escaping () throws -> Result) -> Void
  ) {
    deferred(Performer(performer), progress: nil).pass(to: completion)
  }

  /// All stages from this one on, and the result.
  ///
  /// - Parameters:
  ///   - performer: Where each stage runs.
  ///   - progress: Called with each stage where it runs, this one and the last included; when it returns false, the
  ///     stage does not run, and the error is ``ProgressionError/cancelled``.
  /// - Returns: Work that is done when it is performed.
  @available(*, deprecated, message: "Use `for try await stage in stages`, and break to stop")
  @preconcurrency
  public func deferred(
    performer: sending @escaping AsyncPerformer,
    progress: sending ((Self) -> Bool)? = nil
  ) -> Deferred<Result> {
    deferred(Performer(performer), progress: progress.map(Sent.init))
  }

  /// All stages from this one on, and the result.
  ///
  /// - Parameters:
  ///   - performer: The queue of each stage.
  ///   - progress: Called with each stage where it runs, this one and the last included; when it returns false, the
  ///     stage does not run, and the error is ``ProgressionError/cancelled``.
  /// - Returns: Work that is done when it is performed.
  @available(*, deprecated, message: "Use `for try await stage in stages`, and break to stop")
  @preconcurrency
  public func deferred(
    performer: DispatchQueue = .global(qos: .utility),
    progress: sending ((Self) -> Bool)? = nil
  ) -> Deferred<Result> {
    deferred(Performer(performer), progress: progress.map(Sent.init))
  }

  /// All stages from this one on, and the result.
  ///
  /// - Parameters:
  ///   - queue: The queue of each stage.
  ///   - progress: Called with each stage where it runs, this one and the last included; when it returns false, the
  ///     stage does not run, and the error is ``ProgressionError/cancelled``.
  /// - Returns: Work that is done when it is performed.
  @available(*, deprecated, message: "Use `for try await stage in stages`, and break to stop")
  @preconcurrency
  public func deferred(
    queue: DispatchQueue,
    progress: sending ((Self) -> Bool)? = nil
  ) -> Deferred<Result> {
    deferred(Performer(queue), progress: progress.map(Sent.init))
  }

  func deferred(_ performer: Performer, progress: Sent<(Self) -> Bool>?) -> Deferred<Result> {
    let first = Sent(self)
    return .future { resolve in
      StageRunner<Self, Result>(
        performer: { _ in performer },
        visit: { stage in
          if let progress, !progress.value(stage) { throw ProgressionError.cancelled }
          if let result = stage.result { return .result { result } }
          let next = stage.next()
          return .next { handler in next.pass { useNext in handler(useNext) } }
        },
        complete: { useResult in resolve(useResult) }
      )
      .start(first.value)
    }
  }
}

/// All stages of the progression on the left in the queue on the right, and the result.
@available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise")
public func / <P: Progression>(progression: P, queue: DispatchQueue) -> Deferred<P.Result> {
  progression.deferred(Performer(queue), progress: nil)
}

/// All stages of the progression on the left in the global queue of a quality of service, and the result.
@available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise, in a Task of that priority")
public func / <P: Progression>(progression: P, qos: DispatchQoS.QoSClass) -> Deferred<P.Result> {
  progression.deferred(Performer(qos), progress: nil)
}
