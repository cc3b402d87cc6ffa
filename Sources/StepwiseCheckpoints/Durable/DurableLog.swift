// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a durable run has stored, and what follows from it: which steps are replayed, in which order, and what has to
/// be undone.
///
/// It is a pure value. A run applies each event when it queues the event to be stored, and one that resumes applies the
/// stored ones first.
package struct DurableLog: Sendable {
  /// The end of a step or of a group of steps.
  package struct Record: Sendable, Equatable {
    package enum End: Sendable, Equatable {
      case value([UInt8])
      case failure(StoredFailure)
    }

    package let index: Int?
    package let number: Int
    package let end: End
    package let isUndoable: Bool
    package var isUndone = false

    /// Whether the step may have something to undo.
    var isOutstanding: Bool { isUndoable && !isUndone }
    /// Whether the code has to reach it again: a failure in a child task may be due to a cancellation that comes
    /// earlier in a replay.
    var isExpected: Bool { if case .value = end { true } else { index != nil } }
  }

  /// What the call of a step is to do.
  package enum Begin: Sendable, Equatable {
    /// Return the stored end; first run the body if steps inside it may have to be undone.
    case replay(Record, entersBody: Bool)
    /// Run the body; `isInDoubt` when it may have run before, after which the run failed or was cancelled.
    case perform(isInDoubt: Bool)
    /// Throw: something is to be undone, and no body runs any more.
    case refuse
    /// Run the body for the sake of the undos of steps inside it, and then throw.
    case enter
    /// The stored step is another one.
    case different(stored: String)
  }

  /// Whether the run is on its way to an outcome, and which.
  package enum Phase: Sendable, Equatable {
    case running
    case cancelling(reason: String?)
    case concluded(StoredOutcome)
  }

  package private(set) var phase = Phase.running
  package private(set) var records: [String: Record] = [:]
  /// The keys directly inside a key.
  private var inner: [String: Set<String>] = [:]
  /// The keys of the steps that the owner of a scope has called, by their position.
  private var owned: [String: [Int: String]] = [:]
  /// The highest of these positions.
  private var lastOwned: [String: Int] = [:]
  /// The steps with undo whose bodies began, and that have no end.
  package private(set) var begun: Set<String> = []
  private var keys: [Int: String] = [:]
  private var undoing: Set<Int> = []
  private var attempts: [String: Int] = [:]
  /// The attempts that have failed and are not undone, by their scopes.
  private var failedAttempts: [String: StoredFailure] = [:]
  private var decisions: [String: Int] = [:]
  private var deadlines: [String: Int] = [:]
  private(set) var isAbandoned = false
  private var lastNumber = 0

  // What this process has to replay, and what it has replayed.
  private var pending: Set<String> = []
  /// The numbers of the records to replay, in reverse order; the last ones may have been replayed.
  private var order: [Int] = []

  package init() {}

  /// Creates the log of a run that is to be resumed.
  package init(_ events: some Sequence<DurableEvent>) {
    for event in events { apply(event) }
    pending = Set(records.keys)
    order = records.values.filter(\.isExpected).map(\.number).sorted(by: >)
  }

  // MARK: - Paths

  /// Returns the key of a step or a place: the scope, the name and the occurrence.
  package static func key(_ name: String, _ occurrence: Int, in scope: String) -> String {
    var key = scope.isEmpty ? "" : scope + "/"
    for character in name.unicodeScalars {
      switch character {
      case "/", "#", "@", "[", "]", "%": key += "%" + String(character.value, radix: 16)
      default: key.unicodeScalars.append(character)
      }
    }
    return occurrence == 1 ? key : key + "#\(occurrence)"
  }

  /// Returns the scope of an attempt or a branch of what is at a key.
  static func scope(_ key: String, attempt: Int, branch: Int?) -> String {
    key + (attempt > 1 ? "@\(attempt)" : "") + (branch.map { "[\($0)]" } ?? "")
  }

  /// The scope of a key.
  static func scope(of key: String) -> String {
    key.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(key[..<$0]) } ?? ""
  }

  /// The key that a scope is an attempt or a branch of.
  private static func key(of scope: String) -> String {
    let name = scope.utf8.lastIndex(of: UInt8(ascii: "/")).map { scope.utf8.index(after: $0) } ?? scope.startIndex
    let end = scope[name...].utf8.firstIndex { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "[") }
    return end.map { String(scope[..<$0]) } ?? scope
  }

  // MARK: - Steps

  /// A step is called: by the task that owns its scope as the step at a position, or by another task.
  package mutating func begin(_ key: String, index: Int?) -> Begin {
    let record = records[key]
    if let index, let stored = difference(key, at: index, record) { return .different(stored: stored) }
    if let record { return .replay(record, entersBody: hasOutstanding(in: key)) }
    if case .running = phase, !isInFailedAttempt(key) { return .perform(isInDoubt: false) }
    if begun.contains(key) { return .perform(isInDoubt: true) }
    return hasOutstanding(in: key) ? .enter : .refuse
  }

  /// Whether a step belongs to an attempt that has failed, in which no further body runs.
  private func isInFailedAttempt(_ key: String) -> Bool {
    guard !failedAttempts.isEmpty else { return false }
    return failedAttempts.keys.contains { key.utf8.starts(with: ($0 + "/").utf8) }
  }

  /// The stored failure of the attempt in a scope.
  func failure(ofAttempt scope: String) -> StoredFailure? { failedAttempts[scope] }

  private func difference(_ key: String, at index: Int, _ record: Record?) -> String? {
    guard let steps = owned[Self.scope(of: key)] else { return nil }
    if let stored = steps[index], stored != key { return stored }
    if let record, let position = record.index, position != index { return key }
    guard record == nil, !begun.contains(key), lastOwned[Self.scope(of: key), default: 0] > index else { return nil }
    return steps.filter { $0.key > index }.min { $0.key < $1.key }?.value
  }

  /// Whether the end with a number may be returned: those before it have been.
  package mutating func isNext(_ number: Int) -> Bool {
    while let last = order.last, !(keys[last].map(pending.contains) ?? false) { order.removeLast() }
    return order.last.map { $0 >= number } ?? true
  }

  /// The stored end of a step was returned.
  package mutating func replayed(_ key: String) { pending.remove(key) }

  /// The code in a scope has ended; returns a stored step that it has not called.
  package func unreached(in scope: String) -> String? {
    guard !pending.isEmpty else { return nil }
    let missing = pending.filter { Self.scope(of: $0) == scope && records[$0]?.isExpected ?? false }
    return missing.min { records[$0]?.number ?? 0 < records[$1]?.number ?? 0 }
  }

  package var nextNumber: Int { lastNumber + 1 }

  /// The attempts at a key that have ended.
  func attempts(at key: String) -> Int { attempts[key] ?? 0 }
  func decision(at key: String) -> Int? { decisions[key] }
  func deadline(at key: String) -> Int? { deadlines[key] }
  func record(at key: String) -> Record? { records[key] }
  func key(ofNumber number: Int) -> String? { keys[number] }

  /// Whether there is anything inside a key.
  func hasRecords(in key: String) -> Bool { inner[key] != nil }

  /// Whether a step inside a key may have to be undone.
  func hasOutstanding(in key: String) -> Bool {
    var pending = [key]
    while let next = pending.popLast() {
      for key in inner[next] ?? [] {
        if records[key]?.isOutstanding ?? begun.contains(key) { return true }
        pending.append(key)
      }
    }
    return false
  }

  // MARK: - Undos

  /// The numbers of the steps that can be undone and have not been.
  package var outstanding: [Int] { records.values.filter(\.isOutstanding).map(\.number).sorted() }

  /// Whether a step is going to be undone.
  func isUndoing(_ number: Int) -> Bool { undoing.contains(number) }
  func isUndone(_ number: Int) -> Bool { keys[number].flatMap { records[$0] }.map { !$0.isOutstanding } ?? true }

  /// A step that has to be undone and that the code has not reached in this process.
  ///
  /// - Parameter repeated: The steps in doubt that it has reached.
  /// - Returns: The key of the step.
  func unreachedUndo(except repeated: Set<String>) -> String? {
    let missing = records.filter { $0.value.isOutstanding && pending.contains($0.key) }.keys
    return missing.min() ?? begun.subtracting(repeated).min()
  }

  /// Whether no body runs any more.
  package var isUnwinding: Bool {
    switch phase {
    case .running, .concluded(.resolved): false
    case .cancelling, .concluded: true
    }
  }

  /// Whether the run has an outcome and nothing has to be undone.
  package var isEnded: Bool {
    if isAbandoned { return true }
    switch phase {
    case .running, .cancelling: return false
    case .concluded(.resolved): return undoing.allSatisfy(isUndone)
    case .concluded: return begun.isEmpty && !records.values.contains(where: \.isOutstanding)
    }
  }

  // MARK: - Events

  package mutating func apply(_ event: DurableEvent) {
    switch event {
    case .began(let key):
      begun.insert(key)
      link(key)
    case .completed(let key, let index, let number, let value, let isUndoable):
      add(key, Record(index: index, number: number, end: .value(value), isUndoable: isUndoable))
    case .failed(let key, let index, let number, let failure):
      add(key, Record(index: index, number: number, end: .failure(failure), isUndoable: false))
    case .undoing(let numbers): undoing.formUnion(numbers)
    case .undone(let number):
      if let key = keys[number] { records[key]?.isUndone = true }
    case .settled(let key): begun.remove(key)
    case .attemptFailed(let scope, let failure): failedAttempts[scope] = failure
    case .attemptEnded(let key, let attempt):
      attempts[key] = attempt
      failedAttempts[Self.scope(key, attempt: attempt, branch: nil)] = nil
      removeAll(in: key)
    case .decided(let key, let branch): decisions[key] = branch
    case .deadline(let key, let time): deadlines[key] = time
    case .cancelled(let reason):
      if case .running = phase { phase = .cancelling(reason: reason) }
    case .concluded(let outcome):
      if case .concluded = phase { break }
      phase = .concluded(outcome)
    case .abandoned: isAbandoned = true
    }
  }

  private mutating func add(_ key: String, _ record: Record) {
    begun.remove(key)
    records[key] = record
    keys[record.number] = key
    lastNumber = max(lastNumber, record.number)
    if let index = record.index {
      let scope = Self.scope(of: key)
      owned[scope, default: [:]][index] = key
      lastOwned[scope] = max(lastOwned[scope, default: index], index)
    }
    link(key)
    if !hasOutstanding(in: key) { removeAll(in: key) }
  }

  /// Stores that a key is inside the one around it.
  private mutating func link(_ key: String) {
    var key = key
    while true {
      let scope = Self.scope(of: key)
      let outer = Self.key(of: scope)
      guard !scope.isEmpty, inner[outer, default: []].insert(key).inserted else { return }
      key = outer
    }
  }

  /// Drops everything inside a key.
  private mutating func removeAll(in key: String) {
    var pending = Array(inner.removeValue(forKey: key) ?? [])
    while let key = pending.popLast() {
      pending += inner.removeValue(forKey: key) ?? []
      if let record = records.removeValue(forKey: key) { keys[record.number] = nil }
      let scope = Self.scope(of: key)
      (owned[scope], lastOwned[scope]) = (nil, nil)
      begun.remove(key)
      (attempts[key], decisions[key], deadlines[key]) = (nil, nil, nil)
      (failedAttempts[scope], failedAttempts[key]) = (nil, nil)
      self.pending.remove(key)
    }
  }

  // MARK: - Compaction

  /// The events that lead to this state, without those that have no effect any more.
  package var events: [DurableEvent] {
    var events: [DurableEvent] = []
    if !isEnded {
      // First, because it drops what is inside.
      events += attempts.sorted { $0.key < $1.key }.map { .attemptEnded($0.key, attempt: $0.value) }
      events += failedAttempts.sorted { $0.key < $1.key }.map { .attemptFailed($0.key, $0.value) }
      for (key, record) in records.sorted(by: { $0.value.number < $1.value.number }) {
        switch record.end {
        case .value(let value):
          events.append(
            .completed(key, index: record.index, number: record.number, value: value, isUndoable: record.isUndoable)
          )
        case .failure(let failure):
          events.append(.failed(key, index: record.index, number: record.number, failure))
        }
      }
      events += records.values.filter(\.isUndone).map(\.number).sorted().map { .undone($0) }
      events += begun.sorted().map { .began($0) }
      events += decisions.sorted { $0.key < $1.key }.map { .decided($0.key, branch: $0.value) }
      events += deadlines.sorted { $0.key < $1.key }.map { .deadline($0.key, $0.value) }
      let undoing = undoing.filter { keys[$0] != nil }.sorted()
      if !undoing.isEmpty { events.append(.undoing(undoing)) }
    }
    switch phase {
    case .running: break
    case .cancelling(let reason): events.append(.cancelled(reason: reason))
    case .concluded(let outcome): events.append(.concluded(outcome))
    }
    if isAbandoned { events.append(.abandoned) }
    return events
  }
}
