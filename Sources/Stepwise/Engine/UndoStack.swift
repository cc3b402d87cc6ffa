// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// The undos of the steps that have completed, and those that have failed.
final class UndoStack: Sendable {
  typealias Undo = @Sendable () async throws -> Void

  struct Entry: Sendable {
    let step: ChainStep
    /// The number of the step in the record; -1 without one.
    let entry: Int
    /// The journal's number of the step or, without one, that of `nextNumber`.
    let number: Int
    let undo: Undo

    private static let completed = Atomic(0)

    /// A process-wide count of completed steps, so that steps of concurrent chains have an order as well.
    static var nextNumber: Int { completed.add(1, ordering: .relaxed).newValue }

    static func newestFirst(_ entries: some Sequence<Entry>) -> [Entry] { entries.sorted { $0.number > $1.number } }
  }

  private struct State {
    var entries: [Entry] = []
    /// The first of the entries to undo regardless of what follows, because the part that they belong to failed.
    var firstMarked: Int?
    var isClosed = false
    var unreported: [UndoError] = []
    var reported: [UndoError] = []
  }

  private let state = Lock(State())

  /// Returns false when the stack is closed; then the caller has to undo the steps.
  func push(_ entries: [Entry], isMarked: Bool = false) -> Bool {
    state.withLock { state in
      guard !state.isClosed else { return false }
      if isMarked { state.firstMarked = state.firstMarked ?? state.entries.count }
      state.entries += entries
      return true
    }
  }

  /// Marks all entries to be undone, even when a `recover` follows.
  func markAll() { state.withLock { $0.firstMarked = 0 } }

  /// Removes and returns the entries to undo before anything else happens, newest first.
  func takeMarked() -> [Entry] {
    state.withLock { state in
      guard let first = state.firstMarked.take() else { return [] }
      defer { state.entries.removeSubrange(first...) }
      return Entry.newestFirst(state.entries[first...])
    }
  }

  /// Removes and returns all entries, newest first.
  func takeAll(closing: Bool = false) -> [Entry] {
    state.withLock { state in
      if closing { state.isClosed = true }
      state.firstMarked = nil
      return Entry.newestFirst(exchange(&state.entries, with: []))
    }
  }

  // MARK: - Failures

  var failures: [UndoError] { state.withLock { $0.unreported + $0.reported } }

  /// The failures that the chain's handlers receive when the run ends.
  var unreported: [UndoError] { state.withLock { $0.unreported } }

  func add(_ errors: [UndoError]) { state.withLock { $0.unreported += errors } }

  /// Adds failures that come too late for the handlers.
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
