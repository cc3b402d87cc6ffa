// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// One attempt at some steps of a run, which may fail, or be abandoned, although the run continues.
final class Attempt: Sendable {
  let run: Execution
  /// The attempt around it in the same run.
  let outer: Attempt?
  let undos = UndoStack()
  /// The calls of `step` in flight here; those in an attempt count where the attempt is.
  let calls = InFlightCounter()
  private let isAbandonable: Bool
  /// The innermost attempt around it that the run may abandon.
  private let abandonable: Attempt?
  // An atomic: undo stacks read it inside their locks.
  private let hasFailed = Atomic(false)
  /// Of an attempt that the run may abandon, those inside that have not ended, which the run would not wait for.
  private let inner = Lock<[ObjectIdentifier: Attempt]>([:])

  init(of run: Execution, in outer: Attempt?, isAbandonable: Bool) {
    self.run = run
    self.outer = outer
    self.isAbandonable = isAbandonable
    abandonable = outer.flatMap { $0.isAbandonable ? $0 : $0.abandonable }
    abandonable?.inner.withLock { $0[ObjectIdentifier(self)] = self }
  }

  /// This attempt and those around it that the run may abandon.
  private var abandonables: some Sequence<Attempt> {
    sequence(first: isAbandonable ? self : abandonable, next: { $0?.abandonable }).lazy.compactMap(\.self)
  }

  /// The innermost attempt here that is still awaited separately from what is around it.
  var counting: Attempt? { abandonables.first { !$0.calls.isClosed } }

  /// Whether the run has stopped waiting for the work here.
  var isAbandoned: Bool { abandonables.contains { $0.calls.hasEndedWithoutValue } }

  /// Whether what completes here now is undone at once.
  var undoesAtOnce: Bool {
    // Without the first check, attempts nested thousands deep take quadratic time.
    let hasFailed = run.hasFailedAttempt.load(ordering: .acquiring)
    return isAbandoned
      || hasFailed && sequence(first: self, next: \.outer).contains { $0.hasFailed.load(ordering: .acquiring) }
  }

  /// What completes here from now on is undone at once.
  func setFailed() {
    hasFailed.store(true, ordering: .releasing)
    run.hasFailedAttempt.store(true, ordering: .releasing)
  }

  /// Ends the attempt, and removes and returns all undos, in no order.
  func takeUndos() -> [UndoStack.Undo] {
    _ = abandonable?.inner.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) }
    guard isAbandonable else { return undos.close() }
    var (attempts, undos) = ([self], [UndoStack.Undo]())
    while let attempt = attempts.popLast() {
      undos += attempt.undos.close()
      attempts += attempt.inner.withLock { exchange(&$0, with: [:]).values }
    }
    return undos
  }
}
