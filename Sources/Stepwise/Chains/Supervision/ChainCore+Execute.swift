// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// A run does not know the types of the values that pass through it. The typed callers of these methods store the first
// input in the frame and remove the last output from it.
extension ChainCore {
  /// Returns what a run in the caller's task needs; nil when the run needs its own task.
  @usableFromInline
  func makeFrame() -> Frame? {
    guard isPlain else { return nil }
    return Frame(RunContext(program, cancelledBy: cancellation), slot: ValueSlot())
  }

  /// Whether nothing but tokens around them can reach its runs, so that they need no task of their own.
  var isPlain: Bool { !registry.isTokenTaken && entrance == nil }

  /// What cancels the runs that start now.
  var cancellation: ChainCancellation { ChainCancellation(runs: registry, generation: currentGeneration) }

  /// Runs the chain in the caller's task.
  ///
  /// It leaves the caller's actor here, once for all steps.
  ///
  /// - Throws: The error of the run.
  @concurrent @usableFromInline
  func runInPlace(_ frame: inout Frame) async throws {
    counter.begin()
    defer { counter.end() }
    if StepContext.isSet { return try await runOutsideStep(&frame) }
    try await frame.execute().get()
  }

  /// Runs the chain where a step of another run calls it: progress in here is not that step's progress.
  @inline(never)
  private nonisolated(nonsending) func runOutsideStep(_ frame: inout Frame) async throws {
    try await StepContext.$current.withValue(nil) { try await frame.execute().get() }
  }
}
