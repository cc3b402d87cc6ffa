// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The state of a durable run in this process, behind its lock.
struct DurableState: Sendable {
  var log = DurableLog()
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
  /// Those on the executor that wait until what completed before has been returned, by the number of their end.
  private var waiting: [Int: [Turn]] = [:]
  /// Those on the executor that come after everything stored.
  private var last: [Turn] = []
  /// Those that wait in the bodies of steps.
  private var inner: [Turn] = []
  /// The places whose code runs, and how many times.
  var open: [String: Int] = [:]
  /// How often code on the executor has had its turn.
  var turnCount = 0
  /// Whether a timer measures how long the code waits for what does not come.
  var isWaitingForCode = false
  /// The numbers of steps that have ended and have not been returned, in order.
  private var returning: [Int] = []
  /// The places whose time was over before this process began.
  var expired: Set<String> = []
  /// Steps whose values are not stored, by the numbers of their undos.
  var unstored: [Int: Unstored] = [:]
  /// Of these, the numbers and keys of the ends that the code has seen before.
  var undoneFirst: [Int: (number: Int, key: String)] = [:]
  var lastNumber = 0
  /// Why the run stops, if it was not cancelled.
  var stopError: (any Error)?
  var isStopRequested = false
  /// The scopes in which a step has thrown because the run stops, so that what their code returns means nothing.
  var poisoned: Set<String> = []
  /// Where the run's own task calls steps, which nothing but a stop cancels.
  var place = DurablePosition.Place()
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
    /// Whether it waits in the body of a step, and not on the executor of the run.
    let isInner: Bool
    /// Whether a step waits that has no stored end.
    var isNew = false
    let once = Once<Void>()
  }

  /// A step whose value is not stored.
  struct Unstored: Sendable {
    let key: String
    let thread: Int?
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
    lastNumber = max(lastNumber, log.lastNumber) + 1
    return lastNumber
  }

  // MARK: - Turns

  mutating func wait(for turn: Turn) {
    if turn.isInner {
      inner.append(turn)
    } else if let number = turn.number {
      waiting[number, default: []].append(turn)
    } else {
      last.append(turn)
    }
  }

  /// One that comes after everything stored waits no longer.
  mutating func cancel(_ turn: Turn) { last.removeAll { $0.once === turn.once } }

  /// Those that wait on the executor; a search of all.
  var turnsOnExecutor: [Turn] { waiting.values.flatMap(\.self) + last }

  /// Whether code waits on the executor.
  var isWaitedFor: Bool { !waiting.isEmpty || !last.isEmpty }

  /// A step has ended, and is returned in its turn.
  mutating func willReturn(_ number: Int) {
    let index = returning.lastIndex { $0 <= number }
    returning.insert(number, at: index.map { $0 + 1 } ?? 0)
  }

  /// A step has been returned.
  mutating func didReturn(_ number: Int, _ key: String) {
    log.replayed(key)
    if let index = returning.firstIndex(of: number) { returning.remove(at: index) }
  }

  mutating func isDue(_ turn: Turn) -> Bool {
    if isStopped { return true }
    if turn.isPlace { return log.isReplayed(in: turn.key) }
    // Those around a step in doubt wait for it.
    let outer = log.repetition(around: turn.key)
    let before = returning.prefix { before in turn.number.map { before < $0 } ?? true }
    let isBlocked =
      !before.isEmpty
      && (outer.map { outer in
        before.contains { log.keys[$0].map { DurableLog.contains(outer, $0) } ?? false }
      } ?? true)
    return !isBlocked && log.isNext(turn.number, at: turn.key)
  }

  /// A step that the code waits for in the place of a stored one; nil when the code of that place waits for something else.
  func stepInstead(of stored: String) -> String? {
    var place = DurableLog.scope(of: stored)
    while !place.isEmpty, open[place] == nil { place = DurableLog.scope(of: DurableLog.key(of: place)) }
    return turnsOnExecutor.first { place.isEmpty || DurableLog.contains(place, $0.key) }?.key
  }

  /// Removes the first of those on the executor that need not wait any longer.
  mutating func takeNext() -> Once<Void>? {
    // A search only where no one waits for the end that comes next.
    var number = [log.nextPending(), returning.first].compactMap(\.self).min()
    if number.map({ waiting[$0] == nil }) ?? true { number = waiting.keys.min() }
    // When the first end does not come next, no later one does; but what is inside a place may have been returned.
    if let number, let turn = waiting[number]?.first, isDue(turn) {
      waiting[number]?.removeFirst()
      if waiting[number]?.isEmpty ?? false { waiting[number] = nil }
      turnCount += 1
      return turn.once
    }
    guard let index = last.indices.first(where: { isDue(last[$0]) }) else { return nil }
    turnCount += 1
    return last.remove(at: index).once
  }

  /// Removes what need not wait any longer in the bodies of steps.
  mutating func takeDue() -> [Once<Void>] {
    guard !inner.isEmpty else { return [] }
    var due: [Once<Void>] = []
    for turn in exchange(&inner, with: []).sorted(by: { $0.number ?? .max < $1.number ?? .max }) {
      if isDue(turn) {
        due.append(turn.once)
      } else {
        inner.append(turn)
      }
    }
    return due
  }
}
