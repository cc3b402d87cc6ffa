// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The state of a durable run in this process, behind its lock.
///
/// A run stores events. `log` is what follows from them, and `order` is how the code between steps receives them. Of an
/// order that is cancelled while it charges a card, a process that dies has stored this:
///
///     began     order/reserve, by: …        from now on, the step is in doubt: its body may have happened
///     completed order/reserve, number: 1    it is in the undo list, `log.outstanding`
///     began     order/charge, by: …
///     cancelled "left"
///
/// The next process runs the code again, and delivers one event whenever all of the code waits. The code calls "reserve",
/// which waits for its end. `began` needs no delivery: it says that the step was called. `completed` resumes the step with
/// its stored value. The code calls "charge", which has no end, so it waits for the end of the replay. `cancelled` interrupts
/// the run, as it did before. Now everything is replayed. "charge" is in doubt and cancelled: its body is performed with its
/// key, shielded, and undone at once.
///
///     failed    order/charge, number: 2     what the code has seen: a `CancellationError`
///     undoing   [1]
///     concluded cancelled "left"            the verdict, before the first undo: no later process decides otherwise
///     undone    1                           the undo list is empty, so the run has ended
///
/// A wait is what the code waits for besides steps: the end of a time limit or a delay, or what runs outside of its
/// executor, such as undos. Its end is the event `waited`. A run whose steps all wait may be parked by its host (`waits`).
///
/// The lease (`holder`) lets only one process append. A run that loses it, or that is stopped for another reason, stores
/// nothing more. Its code may catch the error of the stop and return something that means nothing: the scope is poisoned, and
/// what its steps return is not stored.
struct DurableState: Sendable {
  var log = DurableLog()
  var order = DurableOrder()
  /// Nil until the run begins.
  var start: DurableStart?
  /// Of the code between steps; nil until the run begins.
  var executor: DurableExecutor?
  var holder: LeaseHolder?
  /// The version of the stored record.
  var recordVersion: UInt64 = 0
  /// What is still to be stored.
  var queue: [DurableEvent] = []
  var queuedCount = 0
  var storedCount = 0
  var isWriting = false
  /// Settled when what is being stored is; nil while no one waits for that.
  var written: Once<Void>?
  /// How often the code has received something.
  var deliveryCount = 0
  /// Whether a timer measures how long the code is elsewhere.
  var isWaitingForCode = false
  /// The steps in doubt whose bodies run, to be undone.
  var repeating: Set<String> = []
  /// The steps that have ended after the run, by the numbers of their undos.
  var late: [Int: String] = [:]
  /// How many parts of the code undo steps.
  var undoing = 0
  /// The numbers of the steps whose undos have ended in this process.
  var undosTried: Set<Int> = []
  /// Settled when nothing is undone, nor about to be; nil until the run ends.
  var ending: Once<Void>?
  var lastNumber = 0
  /// Why the run stops, if it was not cancelled.
  var stopError: (any Error)?
  var isStopRequested = false
  /// Whether what stops the run has interrupted its code, too, as opposed to a host that only lets nothing begin.
  var isInterrupted = false
  /// Whether it stops because it only waits.
  var isSuspended = false
  /// What observers are told of such a run.
  static var suspension: String { "suspended until a wait is over" }
  /// The scopes in which a step has thrown because the run stops, so that what their code returns means nothing.
  var poisoned: Set<String> = []
  /// Where the run's own task begins; it retains the run until that has ended.
  var root: DurablePosition?
  /// The identity of the run's own task, which nothing but a stop cancels.
  var taskIdentity = 0
  /// Whether an earlier process has decided the outcome, or that the run is cancelled.
  var isDecidedBefore = false
  var cancellation: Cancellation?
  var interrupt: (@Sendable (String?) -> Void)?
  var cancelling: Task<Void, Never>?
  var waits = DurableWaits()
  /// Whether the code between steps has ended.
  var hasCodeEnded = false
  /// Settled with a stored step that the code has not called, when the code has ended and the replay, too.
  var replayed: Once<String?>?
  /// Whether the run has ended in this process, so that nothing more is stored.
  var hasEnded = false

  var hasBegun: Bool { start != nil }

  var isStopped: Bool {
    if stopError != nil { return true }
    if case .concluded(.resolved) = log.phase { return false }
    return isStopRequested
  }

  /// Whether a step is still to be undone whose undo has not been tried.
  var hasUndosLeft: Bool { !log.undosLeft.isSubset(of: undosTried) }

  /// Whether a step within another one has thrown because the run stops.
  func isPoisoned(_ key: String) -> Bool { poisoned.contains { DurableWaits.isInside($0, key) } }

  /// Whether a place belongs to a step in doubt whose body runs, to be undone.
  func isRepeated(_ scope: String) -> Bool { repeating.contains { DurableWaits.isInside(scope, $0) } }

  mutating func nextNumber() -> Int {
    lastNumber = max(lastNumber, log.lastNumber) + 1
    return lastNumber
  }
}
