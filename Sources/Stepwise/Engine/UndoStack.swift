// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// The undos of the steps that have completed, and the errors of those that have failed.
final class UndoStack: Sendable {
  struct Undo: Sendable {
    let step: ChainStep
    /// Nil when nothing records the step.
    let record: RecordID?
    /// The journal's number of the step or, without one, that of `nextNumber`.
    let number: Int
    let perform: @Sendable () async throws -> Void

    // All steps with an undo share it: under a lock, they would wait for each other.
    private static let completed = Atomic(0)

    /// A process-wide count of completed steps, so that steps of concurrent chains have an order as well.
    static var nextNumber: Int { completed.add(1, ordering: .relaxed).newValue }

    static func newestFirst(_ undos: some Sequence<Undo>) -> [Undo] { undos.sorted { $0.number > $1.number } }
  }

  private struct State {
    var undos: [Undo] = []
    var isClosed = false
    var unreported: [UndoError] = []
    var reported: [UndoError] = []
  }

  private let state = Lock(State())

  /// Moves undos to the stack; returns false when it is closed or the steps are to be undone at once, which the caller has
  /// to do then.
  func push(_ undos: inout [Undo], unless undoesAtOnce: () -> Bool) -> Bool {
    state.withLock { state in
      // Inside the lock: what fails from then on has its undos taken later.
      guard !state.isClosed, !undoesAtOnce() else { return false }
      // The longer list is not copied: what is nested thousands deep passes its undos on at each level.
      if undos.count > state.undos.count { swap(&undos, &state.undos) }
      if !undos.isEmpty { state.undos += undos }
      undos = []
      return true
    }
  }

  /// The numbers of the undos, in no order.
  var numbers: [Int] { state.withLock { $0.undos.map(\.number) } }

  /// Removes and returns all undos, newest first.
  func takeAll() -> [Undo] { Undo.newestFirst(state.withLock { exchange(&$0.undos, with: []) }) }

  /// Closes the stack, and removes and returns all undos, in no order.
  func close() -> [Undo] {
    state.withLock { state in
      state.isClosed = true
      return exchange(&state.undos, with: [])
    }
  }

  // MARK: - Errors

  var errors: [UndoError] { state.withLock { $0.unreported + $0.reported } }

  /// The errors that the chain's handlers receive when the run ends.
  var unreported: [UndoError] { state.withLock { $0.unreported } }

  func add(_ errors: [UndoError]) { state.withLock { $0.unreported += errors } }

  /// Adds errors that come too late for the handlers.
  func add(reported errors: [UndoError]) { state.withLock { $0.reported += errors } }
}

/// An error thrown when the undo of a completed step fails.
///
/// You find it in `onError` and in ``Run/undoErrors``. The run itself still throws the error that made it undo.
public struct UndoError: Error, CustomStringConvertible {
  /// The step that was not undone: its name, or its position in the chain.
  public var step: String { chainStep.description }

  let chainStep: ChainStep

  /// The error of the undo.
  public let underlyingError: any Error

  /// The error of the undo.
  @available(*, deprecated, renamed: "underlyingError")
  public var underlying: any Error { underlyingError }

  /// The step, and the error of its undo.
  public var description: String { "\(step) could not be undone: \(underlyingError)" }
}
