// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport
internal import Stepwise

@available(*, deprecated)
extension Progression {
  /// Goes on to the last stage, and calls back.
  ///
  /// - Parameters:
  ///   - qos: The quality of service of the global queue that stages are dispatched to, and the completion.
  ///   - completion: Is given what returns the result, or throws the error of a stage.
  @available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise, or its execute")
  @preconcurrency
  public func execute(
    qos: DispatchQoS.QoSClass = .utility,
    _ completion: sending @escaping (_ useResult: @escaping () throws -> Result) -> Void
  ) {
    deferred(Performer(qos), progress: nil).perform(completion)
  }

  /// Goes on to the last stage, and calls back.
  ///
  /// - Parameters:
  ///   - queue: The queue that stages are dispatched to, and the completion.
  ///   - completion: Is given what returns the result, or throws the error of a stage.
  @available(*, deprecated, message: "Use `try await run()` of Progression, under withTaskExecutorPreference")
  @preconcurrency
  public func execute(
    on queue: DispatchQueue,
    _ completion: sending @escaping (_ useResult: @escaping () throws -> Result) -> Void
  ) {
    deferred(Performer(queue), progress: nil).perform(completion)
  }

  /// Goes on to the last stage, and calls back.
  ///
  /// - Parameters:
  ///   - performer: Where stages do their work, and the completion runs.
  ///   - completion: Is given what returns the result, or throws the error of a stage.
  @available(*, deprecated, message: "Use `try await run()` of Progression, under withTaskExecutorPreference")
  @preconcurrency
  public func execute(
    performer: sending @escaping AsyncPerformer,
    _ completion: sending @escaping (_ useResult: @escaping () throws -> Result) -> Void
  ) {
    deferred(Performer(performer), progress: nil).perform(completion)
  }

  /// All stages from this one on, and the result.
  ///
  /// - Parameters:
  ///   - performer: Where stages do their work.
  ///   - progress: Is told each stage, this one included; when it returns false, the stage's work is not begun, and what
  ///     comes of it is ``ProgressionError/cancelled``.
  /// - Returns: What has yet to be done.
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
  ///   - performer: The queue that stages are dispatched to.
  ///   - progress: Is told each stage, this one included; when it returns false, the stage's work is not begun, and what
  ///     comes of it is ``ProgressionError/cancelled``.
  /// - Returns: What has yet to be done.
  @available(*, deprecated, message: "Use `for try await stage in stages`, and break to stop")
  @preconcurrency
  public func deferred(
    performer: DispatchQueue = .global(qos: .utility),
    progress: sending ((Self) -> Bool)? = nil
  ) -> Deferred<Result> {
    deferred(Performer(performer), progress: progress.map(Sent.init))
  }

  func deferred(_ performer: Performer, progress: Sent<(Self) -> Bool>?) -> Deferred<Result> {
    let stage = Stage(self, performer: performer)
    return .future { resolve in
      Chain { try await stage.run(progress: progress) }.start { result in
        performer { resolve { try result.get().value } }
      }
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
