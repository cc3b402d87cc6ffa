// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacyGrain

/// Work in stages, each of which has a task that produces the next one; the last one has none, and is the result.
@available(*, deprecated, message: "Use Progression of Stepwise, whose next() is async throws, and a result")
public protocol StageProtocol: SendableMetatype {
  /// What gives the stage after this one; nil for the last.
  var nextTask: Task<Self>? { get }
}

@available(*, deprecated)
extension StageProtocol {
  /// Goes on to the last stage, and calls back.
  ///
  /// - Parameters:
  ///   - qos: The quality of service of the global queue that stages are dispatched to, and the completion.
  ///   - completion: Is given what returns the last stage, or throws the error of a stage.
  @available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise, or its execute")
  @preconcurrency
  public func execute(
    qos: DispatchQoS.QoSClass = .utility,
    _ completion: sending @escaping (_ useResult: @escaping () throws -> Self) -> Void
  ) {
    Staged(stage: self).execute(qos: qos, completion)
  }
}

/// A stage of the first edition as one of the second.
@available(*, deprecated)
struct Staged<Stage: StageProtocol>: LegacyGrain.Progression {
  let stage: Stage
  let task: Task<Stage>?

  init(stage: Stage) {
    self.stage = stage
    // Once a stage: to make a task may be to make what it holds.
    task = stage.nextTask
  }

  var result: Stage? { task == nil ? stage : nil }

  func next() -> Deferred<Staged> {
    guard let task else { completedStage(self) }
    return task.deferred.map { Staged(stage: $0) }
  }
}

@available(*, deprecated)
extension Staged: Equatable where Stage: Equatable {
  static func == (left: Staged, right: Staged) -> Bool { left.stage == right.stage }
}

@available(*, deprecated)
extension Staged: CustomStringConvertible {
  var description: String { String(describing: stage) }
}
