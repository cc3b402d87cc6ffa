// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What has happened in a run and in the chains that are steps of it: a bounded list of entries, oldest first.
///
/// Events, progress, traces and observers read it; nothing else is recorded. The names of planned steps are elsewhere.
package struct RunRecord: Sendable {
  /// An error; only its type for attempts that others have followed, because errors belong to the user.
  package enum Failure: Sendable {
    case error(any Error)
    case type(any Any.Type)
  }

  /// What a chain is to the run of which it is a step.
  package enum Nesting: UInt8, Sendable {
    case none, chain, zip, race
  }

  package enum Kind: Sendable {
    /// The run, or a chain that is a step of it; observers know it by the number.
    case run(name: String?, Nesting, steps: Range<Int>, id: UInt64?)
    /// One attempt of a step; an inner step has another name.
    case step(index: Int, inner: String?)
    /// What happened at one time to the entry above.
    case attemptFailed(attempt: Int, Failure)
    case timedOut, abandoned, recovered
    case undone(ChainStep, Failure?)
  }

  package enum State: Sendable {
    case running
    case progress(Double)
    case stage(any AnyBox)
    case succeeded
    /// Its stored value was returned.
    case replayed
    case failed(Failure)
    /// Cancelled through something for a reason, which a run knows.
    case cancelled(source: String?, reason: String?)
    case timedOut
    case abandoned
    case undone(Failure?)

    var isActive: Bool {
      switch self {
      case .running, .progress, .stage: true
      default: false
      }
    }
  }

  package struct Entry: Sendable {
    /// The position among all entries of the run, those dropped included.
    package let number: Int
    /// The number of the run or step that it is part of; -1 for the run itself.
    package let parent: Int
    package let kind: Kind
    package let attempt: Int
    package let begun: Duration
    package fileprivate(set) var ended: Duration?
    package fileprivate(set) var state: State
    /// The number of the attempt that follows a failure.
    fileprivate(set) var retrying: Int?

    var isDroppable: Bool {
      if case .failed = state { return false }
      if number == 0 { return false }
      return !state.isActive
    }
  }

  /// The entries that a run without a trace retains.
  static let defaultCapacity = 1_024

  private(set) var entries: [Entry] = []
  /// Entries that were dropped or changed, and may hold the last reference to what belongs to the user.
  private var replaced: [Entry] = []
  private(set) var droppedCount = 0
  /// How many entries the last trim has left, more than the capacity when so many are active.
  private var trimmedCount = 0
  private var nextNumber = 0
  let capacity: Int
  /// Whether the errors of attempts that others have followed are retained.
  private let keepsErrors: Bool
  /// The planned steps, those of nested chains included.
  private let steps: Range<Int>
  private var firstStep: Int { steps.lowerBound }
  /// For each planned step the number of its newest entry, increased by one; negative once that has succeeded.
  ///
  /// Empty before the first step.
  private var newest: [Int] = []
  /// How often the steps have begun that have begun more than once.
  private var attempts: [Int: Int] = [:]
  private var completeCount = 0
  /// The step that began last, and its name if it is within another one.
  private(set) var current: (index: Int, inner: String?)
  /// For each running step whose code expects a number of steps within, how far they are.
  private var expected: [Int: ExpectedSteps] = [:]
  private(set) var fraction = 0.0
  private(set) var outcome: Outcome<any AnyBox>?

  init(steps: Range<Int>, capacity: Int, keepsErrors: Bool = false) {
    self.capacity = capacity
    self.keepsErrors = keepsErrors
    self.steps = steps
    current = (steps.lowerBound, nil)
  }

  // MARK: - Adding entries

  mutating func add(
    _ kind: Kind,
    in parent: Int,
    attempt: Int = 1,
    _ state: State = .running,
    at time: Duration
  ) -> Int {
    if entries.count / 2 >= max(capacity, trimmedCount) {
      trim()
      trimmedCount = entries.count
    }
    let number = nextNumber
    nextNumber += 1
    let ended = state.isActive ? nil : time
    entries.append(
      Entry(number: number, parent: parent, kind: kind, attempt: attempt, begun: time, ended: ended, state: state)
    )
    return number
  }

  /// Drops the oldest completed entries that exceed the capacity, and failed ones only if nothing else is left.
  mutating func trim() {
    for mayDropFailed in [false, true] where entries.count > capacity {
      var surplus = entries.count - capacity
      entries.removeAll { entry in
        guard surplus > 0, entry.isDroppable || mayDropFailed && !entry.state.isActive else { return false }
        surplus -= 1
        droppedCount += 1
        replaced.append(entry)
        return true
      }
    }
  }

  mutating func beginStep(_ index: Int, in parent: Int, at time: Duration) -> Int {
    if newest.isEmpty {
      newest = Array(repeating: 0, count: steps.count)
      entries.reserveCapacity(min(capacity, steps.count) + 1)
    }
    let slot = newest[index - firstStep]
    var attempt = 1
    if slot != 0 {
      attempt = attempts[index, default: 1] + 1
      attempts[index] = attempt
      if slot < 0 { completeCount -= 1 }
      replace(abs(slot) - 1)
    }
    let kind = Kind.step(index: index, inner: nil)
    let number = add(kind, in: parent, attempt: attempt, at: time)
    newest[index - firstStep] = number + 1
    current = (index, nil)
    return number
  }

  mutating func beginStep(_ name: String, in outer: Int, at time: Duration) -> Int? {
    guard case .step(let index, _)? = self[outer]?.kind else { return nil }
    current = (index, name)
    return add(.step(index: index, inner: name), in: outer, at: time)
  }

  /// Called before a retry: drops references to the user's objects.
  private mutating func replace(_ number: Int) {
    guard let entry = self[number] else { return }
    replaced.append(entry)
    if !keepsErrors, case .failed(.error(let error)) = entry.state {
      change(number) { $0.state = .failed(.type(type(of: error))) }
    }
    if case .stage = entry.state { change(number) { $0.state = .running } }
  }

  // MARK: - Changing entries

  /// Returns whether anything changed; not when the step had ended, because it was abandoned.
  mutating func end(_ number: Int, as state: State, at time: Duration) -> Bool {
    let isChanged = change(number) { entry in
      guard entry.state.isActive else { return false }
      entry.ended = time
      entry.state = state
      entry.retrying = nil
      return true
    }
    guard isChanged == true else { return false }
    switch state {
    case .succeeded, .replayed:
      guard let index = plannedStep(number) else { break }
      newest[index - firstStep] *= -1
      completeCount += 1
      advance(by: 0)
    default: break
    }
    return true
  }

  mutating func set(_ number: Int, to state: State) -> Bool {
    let old = change(number) { entry -> Entry? in
      guard entry.state.isActive else { return nil }
      defer {
        entry.state = state
        entry.retrying = nil
      }
      return entry
    }
    guard let entry = old ?? nil else { return false }
    if case .stage = entry.state { replaced.append(entry) }
    if case .progress(let fraction) = state, plannedStep(number) != nil { advance(by: fraction) }
    return true
  }

  /// The code of a step expects a number of steps within it; returns the steps whose progress has changed.
  mutating func expect(_ count: Int, in number: Int) -> [Int] {
    guard self[number]?.state.isActive == true else { return [] }
    expected[number, default: ExpectedSteps()].count = max(0, count)
    return advance(number)
  }

  /// A step has reported its progress, or has ended; returns the steps around it whose progress changes with it.
  mutating func advance(around number: Int) -> [Int] {
    guard !expected.isEmpty, let entry = self[number] else { return [] }
    if !entry.state.isActive { expected[number] = nil }
    guard case .step(_, .some) = entry.kind, var outer = expected[entry.parent] else { return [] }
    if case .progress(let fraction) = entry.state { outer.report(number, fraction) }
    if !entry.state.isActive { outer.end(number) }
    expected[entry.parent] = outer
    return advance(entry.parent)
  }

  private mutating func advance(_ number: Int) -> [Int] {
    guard let fraction = expected[number]?.next(), set(number, to: .progress(fraction)) else { return [] }
    return [number] + advance(around: number)
  }

  /// Another attempt follows a failure at a step, which may have ended.
  mutating func retry(_ number: Int, attempt: Int) { change(number) { $0.retrying = attempt } }

  mutating func undo(_ number: Int, _ failure: Failure?) -> Bool {
    if let index = plannedStep(number), newest[index - firstStep] < 0 {
      newest[index - firstStep] *= -1
      completeCount -= 1
    }
    return change(number) { $0.state = .undone(failure) } != nil
  }

  /// Gives steps that were cancelled by a time limit that state, and returns their numbers.
  mutating func timeOut(_ steps: Range<Int>) -> [Int] {
    steps.compactMap { index in
      let number = self.number(ofStep: index)
      let isTimedOut = change(number) { entry in
        guard case .cancelled = entry.state else { return false }
        entry.state = .timedOut
        return true
      }
      return isTimedOut == true ? number : nil
    }
  }

  /// Removes and returns what is to be released outside the lock.
  mutating func takeReplaced() -> [Entry] { replaced.isEmpty ? [] : exchange(&replaced, with: []) }

  mutating func end(_ outcome: Outcome<any AnyBox>) {
    self.outcome = outcome
    if case .resolved = outcome { fraction = 1 }
  }

  // MARK: - Reading

  /// The number of the newest entry of a planned step; -1 without any.
  func number(ofStep index: Int) -> Int {
    let position = index - firstStep
    return newest.indices.contains(position) ? abs(newest[position]) - 1 : -1
  }

  subscript(number: Int) -> Entry? { position(of: number).map { entries[$0] } }

  /// The active entries of steps and nested runs that belong to some steps.
  func active(in steps: Range<Int>) -> [Entry] {
    entries.filter { entry in
      guard entry.state.isActive else { return false }
      switch entry.kind {
      case .step(let index, _): return steps.contains(index)
      case .run(_, let nesting, let own, _): return nesting != .none && steps.contains(own.lowerBound)
      default: return false
      }
    }
  }

  func isNewest(_ entry: Entry) -> Bool {
    guard case .step(let index, let inner) = entry.kind else { return false }
    return inner != nil || number(ofStep: index) == entry.number
  }

  /// The step of an entry that is planned, and not within another one.
  private func plannedStep(_ number: Int) -> Int? {
    guard let position = position(of: number), case .step(let index, nil) = entries[position].kind else { return nil }
    return self.number(ofStep: index) == number ? index : nil
  }

  /// Advances the overall progress, which never decreases, even when steps are retried or undone.
  private mutating func advance(by stepFraction: Double) {
    fraction = max(fraction, min(1, (Double(completeCount) + stepFraction) / Double(max(1, steps.count))))
  }

  @discardableResult
  private mutating func change<Result>(_ number: Int, _ body: (inout Entry) -> Result) -> Result? {
    position(of: number).map { body(&entries[$0]) }
  }

  /// The entries are in the order of their numbers, and mostly the last one is meant.
  private func position(of number: Int) -> Int? {
    guard number >= 0, !entries.isEmpty else { return nil }
    // Not `first` and `last`, which copy an entry.
    let (first, last) = (entries[0].number, entries[entries.count - 1].number)
    if number > last || number < first { return nil }
    if last - first == entries.count - 1 { return number - first }
    var (low, high) = (0, entries.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return entries[low].number == number ? low : nil
  }
}
