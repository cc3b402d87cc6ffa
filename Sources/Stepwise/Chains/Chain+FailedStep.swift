// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Runs the chain, waits for its end, and names the step that failed.
  ///
  /// It is ``run(_:)`` for code that handles the error where it awaits the run:
  ///
  /// ```swift
  /// var failedStep: ChainStep?
  /// do {
  ///   try await thumbnail.run(url, failedStep: &failedStep)
  /// } catch {
  ///   print(failedStep?.description ?? "cancelled", error)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - input: The first step's input.
  ///   - failedStep: Set to the step that failed; nil when the run returns a value, is cancelled, or is refused.
  /// - Returns: The last step's output.
  /// - Throws: What `run(_:)` throws.
  @discardableResult
  nonisolated(nonsending) public func run(_ input: Input, failedStep: inout ChainStep?) async throws -> Output {
    failedStep = nil
    guard var frame = core.makeFrame() else {
      let run = try await core.runApart(ValueSlot(input))
      failedStep = run.end?.failedStep
      return try run.takeOutput()
    }
    frame.slot.put(input)
    do {
      try await core.runInPlace(&frame)
    } catch {
      failedStep = frame.failedStep
      throw error
    }
    return frame.slot.take()
  }
}

extension Chain where Input == Void {
  /// Runs the chain, waits for its end, and names the step that failed; see ``run(_:failedStep:)``.
  ///
  /// - Parameter failedStep: Set to the step that failed, or to nil.
  /// - Returns: The last step's output.
  /// - Throws: What `run(_:)` throws.
  @discardableResult
  nonisolated(nonsending) public func run(failedStep: inout ChainStep?) async throws -> Output {
    try await run((), failedStep: &failedStep)
  }
}
