// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The steps that a modifier covers and that run in their own task: under a timer, or abandoned.
struct CoveredSteps: Sendable {
  let context: RunContext
  /// Notes a cancellation of the Task that waits for the steps.
  let request = Coverage.Request()
  private let program: Program
  private let index: Int
  private let isRetried: Bool
  private let outer: Coverage?
  private let recorder: RunRecorder?
  /// The stack for the undos of the steps that complete.
  private let undos: UndoStack?

  init(coveredBy frame: borrowing Frame, undos: UndoStack?) {
    program = frame.program
    context = frame.context
    index = frame.covered
    isRetried = frame.isRetried
    outer = frame.coverage
    recorder = frame.recorder
    self.undos = undos
  }

  /// - Parameters:
  ///   - input: The input of the first step.
  ///   - isAwaited: Returns whether the run still awaits the steps; what happens afterwards is not recorded.
  /// - Returns: The output of the last step.
  /// - Throws: The error of the step that failed.
  func run<Input: Sendable, Output: Sendable>(
    _ input: Input,
    isAwaited: (@Sendable () -> Bool)? = nil
  ) async throws -> Output {
    var recorder = self.recorder
    if let isAwaited { recorder = recorder?.recording(while: isAwaited) }
    var frame = Frame(program, context, undos: undos, recorder: recorder)
    frame.isRetried = isRetried
    frame.coverage = Coverage(in: outer, request, isAwaited: isAwaited)
    frame.slot.put(input)
    try await frame.perform(part: index)
    return frame.slot.take()
  }
}
