// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a durable run has stored, and what follows from it: how its steps ended, and what has to be undone.
///
/// It is a pure value. A run applies each event when it queues the event to be stored, and one that resumes applies the
/// stored ones first.
package struct DurableLog: Sendable {
  /// The end of a step.
  package struct Record: Sendable, Equatable {
    /// Its place in the order of the ends.
    package let number: Int
    package fileprivate(set) var end: Result<[UInt8], StoredFailure>
    package internal(set) var isUndoable: Bool
    package internal(set) var isUndone = false
    /// The error of the last undo, if that has thrown.
    var undoFailure: StoredFailure?

    /// Whether the step may have something to undo.
    var isOutstanding: Bool { isUndoable && !isUndone }
  }

  /// Whether the run is on its way to an outcome, and which.
  package enum Phase: Sendable, Equatable {
    case running
    case cancelling(reason: String?)
    case concluded(StoredOutcome)
  }

  package private(set) var phase = Phase.running
  package private(set) var records: [String: Record] = [:]
  /// The steps in doubt: their bodies have begun, can be undone, and may not have ended.
  package private(set) var begun: Set<String> = []
  /// The keys of the steps that have ended, by their numbers.
  private(set) var keys: [Int: String] = [:]
  private(set) var undoing: Set<Int> = []
  private(set) var deadlines: [String: Int] = [:]
  /// The times that decisions about further attempts follow from.
  private(set) var elapsed: [String: Int] = [:]
  private var isAbandoned = false
  private(set) var lastNumber = 0

  package init() {}

  /// Creates the log of a run that is to be resumed.
  package init(_ events: some Sequence<DurableEvent>) {
    for event in events { apply(event) }
  }

  package mutating func apply(_ event: DurableEvent) {
    switch event {
    case .began(let key, _): begun.insert(key)
    case .completed(let key, _, let number, let value, let isUndoable):
      add(key, Record(number: number, end: .success(value), isUndoable: isUndoable))
    case .failed(let key, _, let number, let failure):
      add(key, Record(number: number, end: .failure(failure), isUndoable: false))
    case .undoing(let numbers): undoing.formUnion(numbers)
    case .undone(let number):
      guard let key = keys[number] else { break }
      records[key]?.isUndone = true
      records[key]?.undoFailure = nil
    case .undoFailed(let number, let failure):
      if let key = keys[number] { records[key]?.undoFailure = failure }
    case .undoable(let number):
      if let key = keys[number] { records[key]?.isUndoable = true }
    case .settled(let key): begun.remove(key)
    case .deadline(let key, let time): deadlines[key] = time
    case .elapsed(let key, let time): elapsed[key] = time
    case .cancelled(let reason):
      if case .running = phase { phase = .cancelling(reason: reason) }
    case .concluded(let outcome):
      if case .concluded = phase { break }
      phase = .concluded(outcome)
    case .waited(let key, _): deadlines[key] = nil
    case .returned, .received: break
    case .abandoned: isAbandoned = true
    }
  }

  private mutating func add(_ key: String, _ record: Record) {
    begun.remove(key)
    records[key] = record
    keys[record.number] = key
    lastNumber = max(lastNumber, record.number)
  }

  /// The code has received the value of a step.
  mutating func forgetValue(of key: String) {
    guard case .success? = records[key]?.end else { return }
    records[key]?.end = .success([])
  }

  // MARK: - Undos

  /// The numbers of the steps that can be undone and have not been.
  package var outstanding: [Int] { records.values.filter(\.isOutstanding).map(\.number).sorted() }

  func isUndone(_ number: Int) -> Bool { keys[number].flatMap { records[$0] }.map { !$0.isOutstanding } ?? true }

  /// The numbers of the steps that are still to be undone, whatever the code does.
  var undosLeft: Set<Int> { isUnwinding ? Set(outstanding) : undoing.filter { !isUndone($0) } }

  var isConcluded: Bool { if case .concluded = phase { true } else { false } }

  /// Whether no new body runs any more.
  package var isUnwinding: Bool {
    switch phase {
    case .running, .concluded(.resolved): false
    case .cancelling, .concluded: true
    }
  }

  /// How the run has ended; one that was abandoned before it had an outcome counts as cancelled.
  var outcome: StoredOutcome {
    if case .concluded(let outcome) = phase { outcome } else { .cancelled(reason: "abandoned", underlying: nil) }
  }

  /// Whether the run has an outcome and nothing has to be undone.
  package var isEnded: Bool {
    if isAbandoned { return true }
    switch phase {
    case .running, .cancelling: return false
    case .concluded(.resolved): return undosLeft.isEmpty && !begun.contains { records[$0] != nil }
    case .concluded: return undosLeft.isEmpty && begun.isEmpty
    }
  }

  /// The errors with which steps could not be undone, in the order in which the steps completed.
  package var undoFailures: [(step: String, failure: StoredFailure)] {
    let failed = records.filter { $0.value.undoFailure != nil }.sorted { $0.value.number < $1.value.number }
    return failed.compactMap { key, record in record.undoFailure.map { (key, $0) } }
  }
}

// MARK: - Keys

extension DurableLog {
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

  /// The name of the step at a key.
  static func name(_ key: String) -> String {
    key.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(key[key.utf8.index(after: $0)...]) } ?? key
  }

  /// The scope of a key.
  static func scope(of key: String) -> String {
    key.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(key[..<$0]) } ?? ""
  }

  /// Whether a key is inside another one.
  static func contains(_ outer: String, _ key: String) -> Bool {
    guard key.utf8.starts(with: outer.utf8) else { return false }
    return key.utf8.dropFirst(outer.utf8.count).first.map { "/@[".utf8.contains($0) } ?? false
  }
}
