// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// The steps that a modifier covers and that run in their own task: under a timer, or abandoned.
///
/// The timer cancels that task too, so only this object shows whether the task of the run was cancelled.
final class CoveredSteps: Sendable {
  let context: RunContext
  private let part: Int
  private let isRetried: Bool
  /// The time limit around this one.
  private let outer: CoveredSteps?
  private let recorder: RunRecorder?
  /// The stack for the undos of the steps that complete.
  private let undos: UndoStack?
  /// The input until the steps run, and the output once they have ended with one.
  private let value: Lock<ValueSlot>
  private let isStillAwaited = Lock<(@Sendable () -> Bool)?>(nil)
  private let isTaskCancelled = Atomic(false)

  /// Takes the input out of the frame.
  init(coveredBy frame: inout Frame, undos: UndoStack?) {
    context = frame.context
    part = frame.covered
    isRetried = frame.isRetried
    outer = frame.limit
    recorder = frame.recorder
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
    var recorder = self.recorder
    if let isAwaited {
      isStillAwaited.withLock { $0 = isAwaited }
      recorder = recorder?.recording(while: isAwaited)
    }
    var frame = Frame(context, slot: takeValue(), undos: undos, recorder: recorder)
    frame.isRetried = isRetried
    frame.limit = self
    defer { context.releaseChildren(under: self) }
    try await frame.perform(part: part)
    var output: ValueSlot? = frame.slot
    value.withLock { value in
      if let output = output.take() { value = output }
    }
  }

  /// Called when the task that waits for the steps is cancelled, before theirs is.
  func cancel() { isTaskCancelled.store(true, ordering: .releasing) }

  /// The name of the step that is running.
  var currentStep: String { context.currentStep.description }

  /// Whether the task of the run was cancelled, which waits for the outermost time limit.
  var isRunCancelled: Bool {
    var limit = self
    while let outer = limit.outer { limit = outer }
    return limit.isTaskCancelled.load(ordering: .acquiring)
  }

  /// Whether the run still waits for the steps.
  var isAwaited: Bool {
    sequence(first: self, next: \.outer).allSatisfy { limit in limit.isStillAwaited.withLock { $0 }?() ?? true }
  }
}
