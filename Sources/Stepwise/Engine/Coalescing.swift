// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Which runs of a chain join one run: those that begin while it is in flight, with an equal key.
///
/// A coalesced run is in flight apart from all tasks, like a started one. The runs that join it wait for it, and perform
/// nothing.
final class Coalescing: Sendable {
  private struct Entry {
    let run: CoalescedRun
    var joinedCount = 1
  }

  private struct State {
    /// The coalesced runs in flight, by the hashes of their keys.
    var entries: [Int: [Entry]] = [:]
    var changeCount = 0
  }

  let inputKey: InputKey
  private let state = Lock(State())

  init(_ inputKey: @escaping InputKey) { self.inputKey = inputKey }

  /// Whether it applies to a run that begins here; it does not when a journal has to know the run's steps.
  func applies(to branch: Branch? = nil, with journal: (any RunJournal)?) -> Bool {
    journal == nil && branch?.container.journal == nil && Scope.currentJournal == nil
  }

  /// Returns the coalesced run for a key, if it is in flight.
  func run(for key: any Hashable & Sendable) -> CoalescedRun? {
    Self.match(state.withLock { $0.entries[key.hashValue] ?? [] }, key)
  }

  /// Joins the coalesced run for a key, or begins one; returns whether it is new.
  func join(_ key: any Hashable & Sendable, _ make: (_ hash: Int) -> CoalescedRun) -> (run: CoalescedRun, isNew: Bool) {
    let hash = key.hashValue
    while true {
      let (entries, changeCount) = state.withLock { ($0.entries[hash] ?? [], $0.changeCount) }
      // Keys are compared outside of the lock, because that is code of the user.
      let match = Self.match(entries, key)
      let found = state.withLock { state -> (CoalescedRun, Bool)? in
        guard state.changeCount == changeCount else { return nil }
        if let match, let index = state.entries[hash]?.firstIndex(where: { $0.run === match }) {
          state.entries[hash]?[index].joinedCount += 1
          return (match, false)
        }
        let run = make(hash)
        state.entries[hash, default: []].append(Entry(run: run))
        state.changeCount += 1
        return (run, true)
      }
      if let found { return found }
    }
  }

  /// A run no longer waits for a coalesced one.
  ///
  /// - Returns: Whether it was the last one, and the coalesced run is to be cancelled; nil when the coalesced run has ended.
  func leave(_ run: CoalescedRun) -> Bool? {
    state.withLock { state in
      guard let index = state.entries[run.keyHash]?.firstIndex(where: { $0.run === run }) else { return nil }
      state.entries[run.keyHash]?[index].joinedCount -= 1
      guard state.entries[run.keyHash]?[index].joinedCount == 0 else { return false }
      Self.remove(run, from: &state)
      return true
    }
  }

  /// The coalesced run has ended, and a further run does not join it.
  func end(_ run: CoalescedRun) { state.withLock { Self.remove(run, from: &$0) } }

  private static func remove(_ run: CoalescedRun, from state: inout State) {
    state.entries[run.keyHash]?.removeAll { $0.run === run }
    if state.entries[run.keyHash]?.isEmpty ?? false { state.entries[run.keyHash] = nil }
    state.changeCount += 1
  }

  private static func match(_ entries: [Entry], _ key: any Hashable & Sendable) -> CoalescedRun? {
    entries.first { !$0.run.hasRequest && AnyHashable($0.run.inputKey) == AnyHashable(key) }?.run
  }
}

/// A run that several runs with an equal key join.
final class CoalescedRun: Execution, @unchecked Sendable {  // Safety: as its superclass.
  let inputKey: any Hashable & Sendable
  let keyHash: Int
  let task = OnceCell<Task<Void, any Error>>()

  init(
    _ core: ChainCore,
    _ input: consuming ValueSlot,
    _ key: any Hashable & Sendable,
    hash: Int,
    for caller: Execution?
  ) {
    inputKey = key
    keyHash = hash
    super.init(of: core, entrance: core.entrance, input: input, for: core.makeRecorder())
    state.withLock { $0.caller = caller }
  }
}

/// A run that waits for a coalesced one instead of performing steps.
final class JoinedRun: Execution, @unchecked Sendable {  // Safety: as its superclass.
  let inputKey: any Hashable & Sendable
  /// Empty when the run was cancelled before it joined one.
  let coalesced = OnceCell<CoalescedRun>()
  /// Ends with the run, when there is no coalesced one to observe.
  let ownRecorder: RunRecorder

  override var performing: Execution { coalesced.settled ?? self }

  init(_ core: ChainCore, on input: consuming ValueSlot, as branch: Branch?, hasHandle: Bool, _ coalescing: Coalescing)
  {
    ownRecorder = RunRecorder(of: core.summary, nil)
    inputKey = coalescing.inputKey(input)
    super.init(of: core, entrance: nil, input: input, as: branch, hasHandle: hasHandle, isRecorded: false)
  }
}

// MARK: - Running

extension ChainCore {
  /// Joins the coalesced run for the key of a run, or begins one.
  func join(_ joined: JoinedRun, _ coalescing: Coalescing, priority: TaskPriority?) {
    let caller = joined.hasHandle ? nil : Scope.current.runInFlight
    // Neither a token around the first caller nor its run cancels what others wait for.
    Scope.$current.withValue(Scope.current.ofCoalescedRuns) {
      let (run, isNew) = coalescing.join(joined.inputKey) { hash in
        CoalescedRun(self, joined.takeValue(), joined.inputKey, hash: hash, for: caller)
      }
      joined.coalesced.settle(run)
      if isNew { return _ = run.task.settle(launch(run, priority: priority)) }
      if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        run.task.settled?.escalatePriority(to: priority ?? Task.currentPriority)
      }
    }
  }

  /// Waits for the coalesced run, which the joined one leaves when it is cancelled.
  func wait(_ joined: JoinedRun, _ coalescing: Coalescing) async {
    // The input, unless the coalesced run has it.
    _ = joined.takeValue()
    var output = ValueSlot()
    let outcome = await outcome(of: joined, coalescing, &output)
    if joined.coalesced.settled == nil { joined.ownRecorder.end(outcome.map { joined }) }
    complete(joined, outcome, output)
  }

  private func outcome(
    of joined: JoinedRun,
    _ coalescing: Coalescing,
    _ output: inout ValueSlot
  ) async -> Outcome<Void> {
    guard let coalesced = joined.coalesced.settled else { return joined.decide(with: CancellationError()) }
    if await coalesced.completion.value() == nil, !coalesced.isCompleted {
      let isLast = coalescing.leave(coalesced)
      if isLast == false { return joined.decide(with: CancellationError()) }
      // The last one cancels the coalesced run, and ends as it does: with its value, if it still returns one.
      if isLast == true { coalesced.cancel(joined.request ?? CancellationRequest(.task)) }
      await coalesced.completion.valueIgnoringCancellation()
    }
    switch coalesced.completed {
    case .resolved:
      output = coalesced.copyOutput()
      return joined.decide(with: nil)
    case .failed(let error):
      if let step = coalesced.failedStep { joined.fail(at: step, error) }
      return joined.decide(with: error)
    case .cancelled(let cancellation):
      joined.cancel(CancellationRequest(.handle, reason: cancellation.reason))
      return joined.decide(with: cancellation.underlyingError ?? CancellationError())
    case nil: return joined.decide(with: CancellationError())
    }
  }
}

extension Execution {
  /// A slot with a copy of the output.
  fileprivate func copyOutput() -> ValueSlot {
    let copy: ValueSlot? = state.withLock { state in
      switch state.value {
      case .some(let output): return output.copied()
      case nil: return nil
      }
    }
    return copy ?? ValueSlot()
  }
}
