// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The steps that a modifier covers and that run in their own task: under a timer, or abandoned.
final class CoveredSteps: Sendable {
  private let program: Program
  private let execution: Execution
  private let part: Int
  private let recording: Recording?
  /// The stack for the undos of the steps that complete.
  private let undos: UndoStack?
  /// The input until the steps run, and the output once they have ended with one.
  private let value: Lock<ValueSlot>

  /// Takes the input out of the frame.
  init(coveredBy frame: inout Frame, undos: UndoStack?) {
    program = frame.program
    execution = frame.execution
    part = frame.covered
    recording = frame.recording
    value = Lock(exchange(&frame.slot, with: ValueSlot()))
    self.undos = undos
  }

  /// Removes the input, or the output.
  func takeValue() -> ValueSlot { value.withLock { exchange(&$0, with: ValueSlot()) } }

  /// Runs the steps.
  ///
  /// - Parameter isAwaited: Returns whether the run still awaits the steps; what happens afterwards is not recorded.
  /// - Throws: The error of the step that failed.
  func run(isAwaited: (@Sendable () -> Bool)? = nil) async throws {
    let recording = isAwaited.map { self.recording?.recording(while: $0) } ?? self.recording
    var frame = Frame(program, execution, slot: takeValue(), undos: undos, recording: recording)
    try await frame.perform(part: part)
    var output: ValueSlot? = frame.slot
    value.withLock { value in
      if let output = output.take() { value = output }
    }
  }

  /// The name of the step that is running.
  var currentStep: String { execution.currentStep.description }
}
