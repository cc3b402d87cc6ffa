// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Progression {
  /// The stages from this one to the last; see ``Stages``.
  @inlinable
  public nonisolated var stages: Stages<Self> { Stages(first: self) }

  /// Runs the stages from this one to the last and returns the result.
  ///
  /// The run belongs to the task that awaits it. The stages run off the caller's actor. When the task is cancelled, no
  /// further stage starts. A stage that has a result returns it immediately.
  ///
  /// - Returns: The result of the last stage, even when the task was cancelled while that stage was being produced.
  /// - Throws: The error of a stage; `CancellationError` when the task was cancelled before a stage.
  @concurrent @inlinable
  public nonisolated func run() async throws -> Result {
    var stage = self
    while true {
      if let result = stage.result { return result }
      if Task.isCancelled { throw CancellationError() }
      stage = try await stage.next()
    }
  }
}
