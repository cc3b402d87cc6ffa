// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How to undo the steps that have completed, newest last.
final class UndoStack: Sendable {
  struct Entry: Sendable {
    let step: ChainStep
    let undo: nonisolated(nonsending) @Sendable () async throws -> Void
  }

  private struct State {
    var entries: [Entry] = []
    var isClosed = false
  }

  private let state = Lock(State())

  /// Returns false when the stack is closed: then nobody but the caller will undo the step.
  func push(_ entries: [Entry]) -> Bool {
    state.withLock { state in
      if !state.isClosed { state.entries += entries }
      return !state.isClosed
    }
  }

  /// Does something unless the stack is closed, and before it can be; returns whether it did.
  func ifOpen(_ action: () -> Void) -> Bool {
    state.withLock { state in
      if !state.isClosed { action() }
      return !state.isClosed
    }
  }

  /// Takes all entries, newest first.
  func takeAll(closing: Bool = false) -> [Entry] {
    state.withLock { state in
      if closing { state.isClosed = true }
      defer { state.entries = [] }
      return state.entries.reversed()
    }
  }
}

/// The undos of a run that have failed.
final class UndoLog: Sendable {
  private struct Failed {
    var untold: [UndoError] = []
    var told: [UndoError] = []
  }

  private let failed = Lock(Failed())

  var all: [UndoError] { failed.withLock { $0.untold + $0.told } }

  /// Those that the chain's handlers are told of when the run ends.
  var untold: [UndoError] { failed.withLock { $0.untold } }

  func add(_ errors: [UndoError]) {
    failed.withLock { $0.untold += errors }
  }

  func add(told errors: [UndoError]) {
    failed.withLock { $0.told += errors }
  }
}
