// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Progression {
  /// The stages from this one to the last; see ``Stages``.
  ///
  /// Iterating throws ``ProgressionError/stuck(stage:repetitions:)`` when an `Equatable` stage returns itself 10,000
  /// times in a row. Use ``stages(stuckAfter:)`` to set another limit.
  @inlinable
  public nonisolated var stages: Stages<Self> { Stages(first: self, watch: StuckWatch()) }

  /// Returns the stages from this one to the last, with a limit for repetitions of one stage.
  ///
  /// - Parameter limit: The number of times that a stage may return itself unchanged in a row before iterating throws
  ///   ``ProgressionError/stuck(stage:repetitions:)``; nil for no limit. Stages that are not `Equatable` are compared
  ///   by their descriptions. A limit above 1,000 may take effect up to 64 stages late.
  /// - Returns: The stages; see ``Stages``.
  @inlinable
  public nonisolated func stages(stuckAfter limit: Int?) -> Stages<Self> {
    Stages(first: self, watch: StuckWatch(limit: limit))
  }

  /// Runs the stages from this one to the last and returns the result.
  ///
  /// The run belongs to the task that awaits it. The stages run off the caller's actor. When the task is cancelled, no
  /// further stage starts. A stage that has a result returns it immediately. The run throws when an `Equatable` stage
  /// returns itself 10,000 times in a row; use ``run(stuckAfter:)`` to set another limit.
  ///
  /// - Returns: The result of the last stage, even when the task was cancelled while that stage was being produced.
  /// - Throws: The error of a stage; `CancellationError` when the task was cancelled before a stage;
  ///   ``ProgressionError/stuck(stage:repetitions:)``.
  @concurrent @inlinable
  public nonisolated func run() async throws -> Result { try await run(StuckWatch()) }

  /// Runs the stages from this one to the last, with a limit for repetitions of one stage, and returns the result.
  ///
  /// - Parameter limit: The number of times that a stage may return itself unchanged in a row before the run throws
  ///   ``ProgressionError/stuck(stage:repetitions:)``; nil for no limit. Stages that are not `Equatable` are compared
  ///   by their descriptions. A limit above 1,000 may take effect up to 64 stages late.
  /// - Returns: The result of the last stage.
  /// - Throws: What ``run()`` throws.
  @concurrent @inlinable
  public nonisolated func run(stuckAfter limit: Int?) async throws -> Result {
    try await run(StuckWatch(limit: limit))
  }

  @concurrent @inlinable
  nonisolated func run(_ watch: StuckWatch<Self>) async throws -> Result {
    var watch = watch
    var stage = self
    while true {
      // The plain loop, as long as no stage has to be compared with the previous one.
      while watch.shouldSkip() {
        if let result = stage.result { return result }
        if Task.isCancelled { throw CancellationError() }
        stage = try await stage.next()
      }
      if let result = stage.result { return result }
      if Task.isCancelled { throw CancellationError() }
      let next = try await stage.next()
      try watch.pass(from: stage, to: next)
      stage = next
    }
  }
}
