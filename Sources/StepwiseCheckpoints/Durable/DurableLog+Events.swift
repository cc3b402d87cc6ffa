// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension DurableLog {
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

  /// The name of the step at a key.
  static func name(_ key: String) -> String {
    key.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(key[key.utf8.index(after: $0)...]) } ?? key
  }

  /// The scope of a key.
  static func scope(of key: String) -> String {
    key.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(key[..<$0]) } ?? ""
  }

  /// The key that a scope is an attempt or a branch of.
  static func key(of scope: String) -> String {
    let name = scope.utf8.lastIndex(of: UInt8(ascii: "/")).map { scope.utf8.index(after: $0) } ?? scope.startIndex
    let end = scope[name...].utf8.firstIndex { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "[") }
    return end.map { String(scope[..<$0]) } ?? scope
  }

  /// The path of the code that calls a step one after another with others.
  static func thread(_ length: Int, of key: String) -> String {
    String(decoding: key.utf8.prefix(length), as: UTF8.self)
  }

  /// The attempt that a scope is, or is a branch of.
  static func attempt(of scope: String) -> Int {
    let rest = scope.utf8.dropFirst(key(of: scope).utf8.count)
    guard rest.first == UInt8(ascii: "@") else { return 1 }
    return Int(String(decoding: rest.dropFirst().prefix { $0 != UInt8(ascii: "[") }, as: UTF8.self)) ?? 1
  }

  // MARK: - Undos

  /// The numbers of the steps that can be undone and have not been.
  package var outstanding: [Int] { records.values.filter(\.isOutstanding).map(\.number).sorted() }

  func isUndone(_ number: Int) -> Bool { keys[number].flatMap { records[$0] }.map { !$0.isOutstanding } ?? true }

  /// A step that has to be undone and that the code has not reached in this process.
  var unreachedUndo: String? {
    let missing = records.filter { $0.value.isOutstanding && pending.contains($0.key) }.keys
    return missing.min() ?? (isUnwinding ? doubts.min() : nil)
  }

  /// Whether no body runs any more.
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
    case .concluded(.resolved): return undoing.allSatisfy(isUndone) && !begun.contains { records[$0] != nil }
    case .concluded: return begun.isEmpty && !records.values.contains(where: \.isOutstanding)
    }
  }

  /// The errors with which steps could not be undone, in the order in which the steps completed.
  package var undoFailures: [(step: String, failure: StoredFailure)] {
    let failed = records.filter { $0.value.undoFailure != nil }.sorted { $0.value.number < $1.value.number }
    return failed.compactMap { key, record in record.undoFailure.map { (key, $0) } }
  }

  // MARK: - Events

  package mutating func apply(_ event: DurableEvent) {
    switch event {
    case .began(let key, let thread):
      begun.insert(key)
      // A repetition that was interrupted counts from the first time: a failure that cancels it waits for the next one.
      begunAfter[key] = begunAfter[key] ?? lastNumber
      begunThreads[key] = thread.map { Self.thread($0, of: key) }
      link(key)
    case .completed(let key, let thread, let number, let value, let isUndoable):
      add(key, Record(thread: thread, number: number, end: .success(value), isUndoable: isUndoable))
    case .failed(let key, let thread, let number, let failure, let isInterrupted):
      let end = Result<[UInt8], _>.failure(failure)
      add(key, Record(thread: thread, number: number, end: end, isInterrupted: isInterrupted, isUndoable: false))
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
    case .attemptFailed(let scope, let failure): failedAttempts[scope] = failure
    case .attemptEnded(let key, let attempt):
      attempts[key] = attempt
      failedAttempts[Self.scope(key, attempt: attempt, branch: nil)] = nil
      // Those of later attempts stay.
      removeAll(in: key) { Self.attempt(of: Self.scope(of: $0)) <= attempt }
    case .decided(let key, let branch): decisions[key] = branch
    case .deadline(let key, let time): deadlines[key] = time
    case .cancelled(let reason):
      if case .running = phase { phase = .cancelling(reason: reason) }
    case .concluded(let outcome):
      if case .concluded = phase { break }
      phase = .concluded(outcome)
    case .received: break
    case .abandoned: isAbandoned = true
    }
  }

  private mutating func add(_ key: String, _ record: Record) {
    begun.remove(key)
    records[key] = record
    keys[record.number] = key
    lastNumber = max(lastNumber, record.number)
    link(key)
    if inner[key] != nil, !hasOutstanding(in: key) { removeAll(in: key) }
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

  /// Drops everything inside a key, or in some of what is directly inside it.
  private mutating func removeAll(in outer: String, where isRemoved: (String) -> Bool = { _ in true }) {
    let direct = inner[outer, default: []].filter(isRemoved)
    for key in direct.flatMap({ [$0] + keys(in: $0) }) {
      inner[key] = nil
      if let record = records.removeValue(forKey: key) { keys[record.number] = nil }
      let scope = Self.scope(of: key)
      begun.remove(key)
      doubts.remove(key)
      (attempts[key], decisions[key], deadlines[key]) = (nil, nil, nil)
      (failedAttempts[scope], failedAttempts[key]) = (nil, nil)
      pending.remove(key)
    }
    inner[outer]?.subtract(direct)
    if inner[outer]?.isEmpty ?? false { inner[outer] = nil }
  }

  // MARK: - Compaction

  /// Returns the events, of those that led to this state, that still have an effect.
  package func effective(_ events: [DurableEvent]) -> [DurableEvent] {
    let isEnded = isEnded
    return events.filter { event in
      switch event {
      case .concluded, .abandoned: true
      case .cancelled: if case .cancelling = phase { true } else { false }
      case _ where isEnded: false
      case .settled, .received: false
      case .began(let key, _): begun.contains(key)
      case .completed(let key, _, let number, _, _), .failed(let key, _, let number, _, _):
        records[key]?.number == number
      case .undoing(let numbers): numbers.contains { keys[$0] != nil }
      case .undone(let number), .undoable(let number): keys[number] != nil
      case .undoFailed(let number, let failure): keys[number].flatMap { records[$0]?.undoFailure } == failure
      case .attemptFailed(let scope, _): failedAttempts[scope] != nil
      case .attemptEnded(let key, let attempt): attempts[key] == attempt
      case .decided(let key, let branch): decisions[key] == branch
      case .deadline(let key, let time): deadlines[key] == time
      }
    }
  }
}
