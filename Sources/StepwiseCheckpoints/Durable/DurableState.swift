// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The state of a durable run in this process, behind its lock.
struct DurableState: Sendable {
  var log = DurableLog()
  /// Nil until the run begins.
  var start: DurableStart?
  var holder: LeaseHolder?
  /// The version of the stored record.
  var recordVersion: UInt64 = 0
  /// What is still to be stored.
  var queue: [DurableEvent] = []
  var queuedCount = 0
  var storedCount = 0
  /// Settled when the events that are being stored are.
  var writing: Once<Void>?
  /// Those that wait until what completed before has been replayed.
  var turns: [Turn] = []
  /// Steps of child tasks that have completed and are being stored.
  var returning: Set<Int> = []
  /// The places whose time was over before this process began.
  var expired: Set<String> = []
  /// Steps whose values are not stored, by the numbers of their undos.
  var unstored: [Int: Unstored] = [:]
  var lastNumber = 0
  /// Why the run stops, if it was not cancelled.
  var stopError: (any Error)?
  var isStopRequested = false
  /// The scopes in which a step has thrown because the run stops, so that what their code returns means nothing.
  var poisoned: Set<String> = []
  /// The identity of the run's own task, which nothing but a stop cancels.
  var task = 0
  /// Whether an earlier process has decided the outcome, or that the run is cancelled.
  var isResumed = false
  var cancellation: Cancellation?
  var interrupt: (@Sendable (String?) -> Void)?
  var cancelling: Task<Void, Never>?
  var waits = DurableWaits()
  /// Whether the run has released its lease.
  var hasEnded = false

  /// What waits until everything that completed before a number has been replayed; nil for everything.
  struct Turn: Sendable {
    let number: Int?
    /// The step or the place that waits.
    let key: String
    /// Whether it waits for what is inside the place only.
    var isPlace = false
    let once = Once<Void>()
  }

  /// A step whose value is not stored.
  struct Unstored: Sendable {
    let key: String
    let index: Int?
    /// What is stored of the step; nil when nothing is stored any more.
    let failure: StoredFailure?
  }

  var hasBegun: Bool { start != nil }

  var isStopped: Bool {
    if stopError != nil { return true }
    if case .concluded(.resolved) = log.phase { return false }
    return isStopRequested
  }

  /// Whether a step within another one has thrown because the run stops.
  func isPoisoned(_ key: String) -> Bool { poisoned.contains { DurableWaits.isInside($0, key) } }

  /// A stored step that the code of a place has not called although nothing has interrupted it.
  func unreached(in scope: String) -> String? {
    isStopped || cancellation != nil ? nil : log.unreached(in: scope)
  }

  /// The number of the end of a step: that of a stored one, because what was stored later may follow from it.
  mutating func number(of key: String) -> Int {
    log.records[key]?.number ?? nextNumber()
  }

  mutating func nextNumber() -> Int {
    lastNumber = max(lastNumber + 1, log.nextNumber)
    return lastNumber
  }

  // MARK: - Turns

  mutating func isDue(_ turn: Turn) -> Bool {
    if isStopped { return true }
    if turn.isPlace { return log.isReplayed(in: turn.key) }
    let outer = log.repetition(around: turn.key)
    let isBlocked = returning.contains { before in
      guard turn.number.map({ before < $0 }) ?? true else { return false }
      // Those around a step in doubt wait for it.
      guard let outer else { return true }
      return log.keys[before].map { DurableLog.contains(outer, $0) } ?? false
    }
    return !isBlocked && log.isNext(turn.number, at: turn.key)
  }

  /// Removes what need not wait any longer.
  mutating func takeDue() -> [Once<Void>] {
    guard !turns.isEmpty else { return [] }
    var due: [Once<Void>] = []
    for turn in exchange(&turns, with: []).sorted(by: { $0.number ?? .max < $1.number ?? .max }) {
      if isDue(turn) {
        due.append(turn.once)
      } else {
        turns.append(turn)
      }
    }
    return due
  }
}
