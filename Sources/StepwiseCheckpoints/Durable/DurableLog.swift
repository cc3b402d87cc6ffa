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
    /// The length of the path of the code that calls it one after another with others; nil in child tasks.
    package let thread: Int?
    package let number: Int
    package let end: Result<[UInt8], StoredFailure>
    /// Whether its task was cancelled, which may come before the step in a replay.
    package var isInterrupted = false
    package internal(set) var isUndoable: Bool
    package internal(set) var isUndone = false
    /// The error of the last undo, if that has thrown.
    var undoFailure: StoredFailure?

    /// Whether the step may have something to undo.
    var isOutstanding: Bool { isUndoable && !isUndone }
    /// Whether the code has to reach it again.
    var isExpected: Bool { if case .success = end { true } else { !isInterrupted && thread != nil } }
  }

  /// Why the body of a step runs.
  package enum Performance: Sendable, Equatable {
    /// The step is new.
    case new
    /// It may have run before, in a process that crashed.
    case again
    /// It may have run before, and then the run failed or was cancelled: it runs only to be undone.
    case toUndo
  }

  /// What the call of a step is to do.
  package enum Begin: Sendable, Equatable {
    /// Return the stored end; first run the body if steps inside it may have to be undone.
    case replay(Record, entersBody: Bool)
    /// Run the body.
    case perform(Performance)
    /// Throw: no body runs here any more. First wait for what completed before a number; for everything when nil.
    case refuse(after: Int?)
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

  package internal(set) var phase = Phase.running
  package internal(set) var records: [String: Record] = [:]
  /// The keys directly inside a key.
  var inner: [String: Set<String>] = [:]
  /// The steps with undo whose bodies began, and that have no end.
  package internal(set) var begun: Set<String> = []
  /// The last number before each of them began.
  var begunAfter: [String: Int] = [:]
  /// The paths of the code that called them, where that code calls one step after another.
  var begunThreads: [String: String] = [:]
  var keys: [Int: String] = [:]
  var undoing: Set<Int> = []
  /// The attempts that have ended, by their keys.
  var attempts: [String: Int] = [:]
  /// The attempts that have failed and are not undone, by their scopes.
  var failedAttempts: [String: StoredFailure] = [:]
  var decisions: [String: Int] = [:]
  var deadlines: [String: Int] = [:]
  var isAbandoned = false
  var lastNumber = 0

  // What this process has to replay, and what it has replayed.
  var pending: Set<String> = []
  /// The numbers of the records to replay, in reverse order; the last ones may have been replayed.
  var order: [Int] = []
  /// The numbers of the records that code which calls one step after another has to return, in reverse order, by the path
  /// of that code; the last ones may have been returned.
  private var threads: [String: [Int]] = [:]
  /// The steps that had begun in an earlier process and that the code has not reached yet.
  var doubts: Set<String> = []
  /// The steps in doubt whose bodies run, to be undone.
  var repeating: Set<String> = []
  var skipsDoubts = false

  package init() {}

  /// Creates the log of a run that is to be resumed.
  package init(_ events: some Sequence<DurableEvent>) {
    for event in events { apply(event) }
    pending = Set(records.keys)
    order = records.values.filter { !$0.isInterrupted }.map(\.number).sorted(by: >)
    doubts = begun
    for (key, record) in records where record.isExpected {
      if let thread = record.thread { threads[Self.thread(thread, of: key), default: []].append(record.number) }
    }
    for thread in threads.keys { threads[thread]?.sort(by: >) }
  }

  // MARK: - Steps

  /// A step is called, by the code at a path, which calls one step after another, or by a child task.
  ///
  /// The work there is cut when it goes no further, because a branch has lost or a time limit is over.
  ///
  /// One that is ordered is called between steps: others wait for its end even if it runs to be undone.
  package mutating func begin(_ key: String, thread: Int?, isCut: Bool = false, isOrdered: Bool = false) -> Begin {
    let record = records[key]
    if let thread, let stored = difference(key, thread, isCut: isCut) { return .different(stored: stored) }
    let isInDoubt = doubts.remove(key) != nil
    if isInDoubt, isUnwinding || isCut && undoesDoubt(key) || record != nil && phase != .running {
      repeating.insert(key)
      if !isOrdered { pending.remove(key) }
      return .perform(.toUndo)
    }
    if let record = end(of: key) {
      let entersBody = hasOutstanding(in: key)
      if !entersBody { leave(key) }
      return .replay(record, entersBody: entersBody)
    }
    // One that is performed again is not replayed.
    pending.remove(key)
    guard let refusal = refusal(of: key) else { return .perform(isInDoubt ? .again : .new) }
    if hasOutstanding(in: key) { return .enter }
    leave(key)
    return refusal
  }

  /// The stored end of a step, if it is final.
  ///
  /// What interrupted a step inside one in doubt does not interrupt a further body of that one. There the step does what
  /// an earlier body may have done, unless the code has called a later step because it failed.
  func end(of key: String) -> Record? {
    guard let record = records[key], record.isInterrupted else { return records[key] }
    let open = begun.filter { Self.contains($0, key) && (records[$0] == nil || repeating.contains($0)) }
    guard let outer = open.max(by: { $0.utf8.count < $1.utf8.count }) else { return record }
    let isFollowed = records.contains { other, end in
      let scope = Self.scope(of: other)
      return end.thread != nil && end.number > record.number && Self.contains(outer, other)
        && !Self.contains(other, key) && (scope == Self.scope(of: key) || Self.contains(scope, key))
    }
    return isFollowed ? record : nil
  }

  /// Whether a step in doubt is repeated where the work goes no further.
  ///
  /// Within another one that is repeated it does its work, and what was abandoned is left alone.
  private func undoesDoubt(_ key: String) -> Bool {
    repetition(around: key) == nil && (records[key] != nil || end(around: key) == nil)
  }

  /// Returns why the body of a new step does not run any more.
  private func refusal(of key: String) -> Begin? {
    if let number = end(around: key) {
      return repetition(around: key) == nil ? .refuse(after: number) : nil
    }
    if isInFailedAttempt(key) { return .refuse(after: 0) }
    if case .running = phase { return nil }
    return repetition(around: key) == nil ? .refuse(after: nil) : nil
  }

  /// Whether a place belongs to a step in doubt whose body runs, to undo it.
  func isRepeated(_ scope: String) -> Bool { repeating.contains(scope) || repetition(around: scope) != nil }

  /// The innermost step in doubt around a key whose body runs, to undo it.
  func repetition(around key: String) -> String? {
    repeating.filter { Self.contains($0, key) }.max { $0.utf8.count < $1.utf8.count }
  }

  /// The number of the first step, or group of steps, around a key that has ended.
  func end(around key: String) -> Int? {
    var (scope, first) = (Self.scope(of: key), Int?.none)
    while !scope.isEmpty {
      let outer = Self.key(of: scope)
      if let end = (records[scope] ?? records[outer])?.number { first = min(first ?? end, end) }
      scope = Self.scope(of: outer)
    }
    return first
  }

  /// Whether a key is inside another one.
  static func contains(_ outer: String, _ key: String) -> Bool {
    guard key.utf8.starts(with: outer.utf8) else { return false }
    return key.utf8.dropFirst(outer.utf8.count).first.map { "/@[".utf8.contains($0) } ?? false
  }

  /// Whether a step belongs to an attempt that has failed, in which no further body runs.
  private func isInFailedAttempt(_ key: String) -> Bool {
    guard !failedAttempts.isEmpty else { return false }
    return failedAttempts.keys.contains { key.utf8.starts(with: ($0 + "/").utf8) }
  }

  /// Returns the stored step that the code at a path called before it can have called this one; nil when there is none.
  ///
  /// It calls one step after another, so what it calls next is what it called before, whatever other code does.
  private mutating func difference(_ key: String, _ length: Int, isCut: Bool) -> String? {
    let (thread, record) = (Self.thread(length, of: key), records[key])
    if let (stored, number) = next(in: thread) {
      // One that was interrupted may be called or not.
      return stored == key || record.map { $0.number < number } ?? false ? nil : stored
    }
    // What had begun comes after all that has ended; what cancels the code may come earlier than before.
    guard !isCut, record == nil, !doubts.isEmpty, !doubts.contains(key), phase == .running else { return nil }
    return doubts.filter { begunThreads[$0] == thread && records[$0] == nil }.min()
  }

  /// Returns the stored step that the code at a path called after it had left a limit, if no earlier process has entered
  /// that limit.
  mutating func difference(enteringLimit key: String, at place: String, in thread: String) -> String? {
    guard deadlines[key] == nil, records[key] == nil, decisions[place] == nil, !hasRecords(in: place) else {
      return nil
    }
    return next(in: thread)?.key
  }

  /// The stored step that the code at a path returns next.
  private mutating func next(in thread: String) -> (key: String, number: Int)? {
    while let number = threads[thread]?.last {
      if let key = keys[number], pending.contains(key) { return (key, number) }
      threads[thread]?.removeLast()
    }
    return nil
  }

  /// Whether the end with a number may be returned: those before it have been.
  ///
  /// What is not stored comes last, and has none. An end may cancel steps in doubt that began before it, so it waits until
  /// the code has called them; while the run is undone, until their bodies have ended.
  package mutating func isNext(_ number: Int?, at key: String) -> Bool {
    _ = nextPending()
    // What follows the end around it may wait for that end.
    let number = [number, end(around: key)].compactMap(\.self).min()
    if let outer = repetition(around: key) {
      return !order.contains { before in
        number.map { before < $0 } ?? true && isPending(before)
          && keys[before].map { Self.contains(outer, $0) } ?? false
      }
    }
    if let last = order.last, number.map({ last < $0 }) ?? true {
      // What is around it ends after it.
      let isBlocked = order.reversed().prefix { before in number.map { before < $0 } ?? true }.contains { before in
        isPending(before) && !(keys[before].map { Self.contains($0, key) } ?? true)
      }
      if isBlocked { return false }
    }
    func isBefore(_ key: String) -> Bool { number.map { begunAfter[key, default: 0] < $0 } ?? true }
    return !(isUnwinding && repeating.contains(where: isBefore)) && (skipsDoubts || !doubts.contains(where: isBefore))
  }

  /// Whether stored ends are still to be returned, or steps in doubt to be called or to be repeated.
  var isReplaying: Bool { !pending.isEmpty || !doubts.isEmpty && !skipsDoubts || !repeating.isEmpty }

  /// The number of the stored end of a step, if that has not been returned.
  func pendingNumber(of key: String) -> Int? { pending.contains(key) ? records[key]?.number : nil }

  /// The stored step that is to be returned next, or called.
  var unreplayed: String? { order.last(where: isPending).flatMap { keys[$0] } ?? doubts.min() }

  /// The number of the stored end that is to be returned next.
  mutating func nextPending() -> Int? {
    while let last = order.last, !isPending(last) { order.removeLast() }
    return order.last
  }

  private func isPending(_ number: Int) -> Bool { keys[number].map(pending.contains) ?? false }

  /// The stored end of a step was returned.
  package mutating func replayed(_ key: String) { pending.remove(key) }

  /// Does not wait any more for what comes before a number, and for steps in doubt that were not called.
  mutating func skip(before number: Int?) {
    order.removeAll { before in number.map { before < $0 } ?? true }
    skipsDoubts = true
  }

  /// Whether all stored ends inside a key have been returned, and no step there is in doubt.
  func isReplayed(in key: String) -> Bool {
    let isInside = { Self.contains(key, $0) }
    return !order.contains { isPending($0) && keys[$0].map(isInside) ?? false }
      && !repeating.contains(where: isInside) && (skipsDoubts || !doubts.contains(where: isInside))
  }

  /// The code in a scope has ended; returns a stored step that it has not called.
  package func unreached(in scope: String) -> String? {
    guard !pending.isEmpty else { return nil }
    let missing = pending.filter { Self.scope(of: $0) == scope && records[$0]?.isExpected ?? false }
    return missing.min { records[$0]?.number ?? 0 < records[$1]?.number ?? 0 }
  }

  /// Nothing inside a key, or inside one attempt or branch there, is reached any more.
  mutating func leave(_ key: String, branch scope: String? = nil) {
    if !pending.isEmpty { pending.subtract(keys(in: key, branch: scope)) }
  }

  /// Whether an attempt follows one at a key, if that was stored.
  func continues(after attempt: Int, at key: String) -> Bool? {
    if decisions[key] == attempt { return false }
    let next = Self.scope(key, attempt: attempt + 1, branch: nil)
    if attempts[key, default: 0] >= attempt || inner[key]?.contains(where: { Self.scope(of: $0) == next }) ?? false {
      return true
    }
    return records[key] == nil && end(around: key) == nil ? nil : false
  }

  /// How many branches of a scope have begun, as far as anything inside them is stored.
  func branchCount(in scope: String) -> Int {
    let indices = inner[Self.key(of: scope), default: []].compactMap { key -> Int? in
      let branch = Self.scope(of: key)
      guard branch.utf8.starts(with: (scope + "[").utf8) else { return nil }
      return Int(branch.dropFirst(scope.count + 1).dropLast())
    }
    return indices.max().map { $0 + 1 } ?? 0
  }

  /// Whether there is anything inside a key.
  func hasRecords(in key: String) -> Bool { inner[key] != nil }

  /// Whether a step inside a key, or inside one branch there, may have to be undone.
  func hasOutstanding(in key: String, branch scope: String? = nil) -> Bool {
    keys(in: key, branch: scope).contains { begun.contains($0) || records[$0]?.isOutstanding ?? false }
  }

  /// Everything inside a key, or inside one attempt or branch there.
  func keys(in key: String, branch scope: String? = nil) -> [String] {
    guard let direct = inner[key] else { return [] }
    var rest = Array(direct).filter { scope == nil || scope == Self.scope(of: $0) }
    var found: [String] = []
    while let key = rest.popLast() {
      found.append(key)
      rest += inner[key] ?? []
    }
    return found
  }
}
