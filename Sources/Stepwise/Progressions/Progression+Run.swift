// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Progression {
  /// The stages from this one on; see ``Stages``.
  ///
  /// A stage that is `Equatable` and returns itself 10,000 times in a row is held to be stuck:
  /// ``ProgressionError/stuck(stage:repetitions:)`` is thrown. ``stages(stuckAfter:)`` sets another limit.
  @inlinable
  public nonisolated var stages: Stages<Self> { Stages(first: self, watch: StuckWatch()) }

  /// The stages from this one on, with a limit for how long they may stand still.
  ///
  /// - Parameter limit: After how many times in a row that a stage returned itself unchanged
  ///   ``ProgressionError/stuck(stage:repetitions:)`` is thrown; nil for never. Stages that are not `Equatable` are compared
  ///   by their descriptions. A limit above 1,000 may be noticed up to 64 stages late.
  /// - Returns: The stages; see ``Stages``.
  @inlinable
  public nonisolated func stages(stuckAfter limit: Int?) -> Stages<Self> {
    Stages(first: self, watch: StuckWatch(limit: limit))
  }

  /// Goes on from this stage to the last, and waits for its result.
  ///
  /// The run belongs to the Task that awaits it. The stages run off the caller's actor; when the Task is cancelled no further
  /// one begins. A stage that has a result gives it at once. A stage that is `Equatable` and returns itself 10,000 times in a
  /// row is held to be stuck; ``run(stuckAfter:)`` sets another limit.
  ///
  /// - Returns: The result of the last stage, also when the Task was cancelled too late to prevent it.
  /// - Throws: What a stage throws; `CancellationError` when the Task was cancelled before a stage;
  ///   ``ProgressionError/stuck(stage:repetitions:)``.
  @concurrent @inlinable
  public nonisolated func run() async throws -> Result { try await run(StuckWatch()) }

  /// Goes on from this stage to the last, with a limit for how long stages may stand still, and waits for its result.
  ///
  /// - Parameter limit: After how many times in a row that a stage returned itself unchanged
  ///   ``ProgressionError/stuck(stage:repetitions:)`` is thrown; nil for never. Stages that are not `Equatable` are compared
  ///   by their descriptions. A limit above 1,000 may be noticed up to 64 stages late.
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
      // The loop that a user would write, as long as no stage is to be compared with the one before.
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
