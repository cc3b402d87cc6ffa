// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The order in which the code between the steps of a run receives what it waits for: that of the events.
///
/// A run that resumes receives what is stored first; nothing new begins before the end of this replay, unless the code waits
/// for a gate that another run occupies. So the code takes the path of the earlier processes, and code that has changed is
/// found before it does anything.
///
/// It is a pure value. What it holds of the code is what resumes it.
struct DurableOrder: Sendable {
  /// Something that the code waits for, or that an earlier process has seen it do.
  enum Arrival: Sendable {
    /// The end of a step or of a wait.
    case end(String)
    /// The body of a step had begun, so the code has called the step.
    case began(String)
    /// A task of the code has returned from elsewhere, such as the main actor.
    case returned(task: Int)
    case cancelled(reason: String?)
  }

  /// What is done while all of the code waits.
  enum Action: Sendable {
    /// A step or a wait has ended.
    case resume(Once<Void>)
    /// A task that has returned from elsewhere goes on; what no earlier process has seen is stored.
    case admit(task: Int, isNew: Bool)
    case interrupt(reason: String?)
    /// The replay has ended: what is new begins.
    case begin([Once<Void>])
    /// The replay has ended, and the time of a wait was over before.
    case expire(String)
    /// The code has called another step than the stored one.
    case differ(stored: String, found: String)
    /// What comes next is stored, and the code is not there yet.
    case wait(for: Missing)
    case rest
  }

  /// Why the code does not receive what comes next.
  enum Missing: Sendable {
    /// It has not called for it.
    case call(String)
    /// It is elsewhere.
    case code
    /// It waits for work that is repeated in each process, such as undos.
    case work
  }

  /// What a task has done in earlier processes.
  private enum Trace: Sendable, Equatable {
    /// It has called for a step or a wait that has begun or ended.
    case call(String)
    case returned
  }

  /// How far a step or a wait is that the code waits for.
  private enum Call: Sendable {
    /// It begins after the replay.
    case new(Once<Void>, deadline: Int?)
    /// It works, or is on its way back.
    case performing
    /// It waits for its turn.
    case ended(Once<Void>)
  }

  private var arrivals: [(arrival: Arrival, eventCount: Int)] = []
  /// The number of arrivals that were delivered.
  private var head = 0
  /// The number of arrivals of earlier processes.
  private var storedCount = 0
  private(set) var isReplaying = false
  /// Whether nothing is delivered, because a step in doubt, or an inner run, is performed where its end was.
  var isBlocked = false
  /// The keys of the ends that were not delivered.
  private var pending: Set<String> = []
  private var calls: [String: Call] = [:]
  /// The keys of what begins after the replay, in the order of the calls.
  private var new: [String] = []
  /// The waits that the code has left before their ends were delivered.
  private var left: Set<String> = []
  /// The stored ends that are delivered when the code calls for them, because it waits for something else meanwhile.
  private(set) var late: Set<String> = []
  /// The tasks of the waits, until they end.
  private var tasks: [String: Int] = [:]
  /// The number of calls of steps.
  private(set) var callCount = 0

  // What the calls are compared with, while it replays.
  private var called: Set<String> = []
  private var calledSteps: [(key: String, isOwned: Bool)] = []
  /// What is left of what each task has done in earlier processes.
  private var traces: [Int: ArraySlice<Trace>] = [:]
  /// The steps that a task has called in the place of stored ones.
  private var differences: [String: String] = [:]
  /// The tasks that have not departed this time, and wait where they had returned from elsewhere before.
  private var waitingToCall: [Int: Once<Void>] = [:]
  /// How many steps the code had called when a stored one began or ended.
  private var stepCalls: [String: Int] = [:]

  init() {}

  /// Creates the order of a run that resumes.
  init(_ events: some Sequence<DurableEvent>) {
    for event in events {
      switch event {
      case .began(let key, let caller):
        trace(key, caller)
        add(.began(key))
      case .completed(let key, let caller, _, _, _), .failed(let key, let caller, _, _):
        trace(key, caller)
        add(.end(key))
      case .waited(let key, let task):
        traces[task, default: []].append(.call(key))
        add(.end(key))
      case .returned(let task):
        traces[task, default: []].append(.returned)
        add(.returned(task: task))
      case .cancelled(let reason): add(.cancelled(reason: reason))
      // A limit may be over: that is found when the replay ends.
      case .deadline: isReplaying = true
      default: break
      }
    }
    storedCount = arrivals.count
    isReplaying = isReplaying || storedCount > 0
  }

  private mutating func trace(_ key: String, _ caller: DurableCaller) {
    guard stepCalls[key] == nil else { return }
    stepCalls[key] = caller.calls
    traces[caller.task, default: []].append(.call(key))
  }

  private mutating func add(_ arrival: Arrival, after eventCount: Int = 0) {
    arrivals.append((arrival, eventCount))
    if case .end(let key) = arrival { pending.insert(key) }
  }

  // MARK: - Calls

  /// What a call of a step or a wait does first.
  enum Answer: Sendable {
    /// Its end is stored.
    case stored
    /// It begins after the replay.
    case later
    case now
  }

  /// The code calls for a step or a wait.
  ///
  /// - Parameters:
  ///   - key: Its key.
  ///   - task: The task that calls for it.
  ///   - permit: Settled when something that is new may begin.
  ///   - isOwned: Of a step, whether the code at its place calls one after another; nil for a wait.
  ///   - mayBeLeft: Whether the code may leave a wait before it ends, so that nothing is stored of it.
  ///   - deadline: When a wait is over.
  /// - Returns: What it does first.
  mutating func call(
    _ key: String,
    by task: Int,
    _ permit: Once<Void>,
    step isOwned: Bool? = nil,
    mayBeLeft: Bool = false,
    deadline: Int? = nil
  ) -> Answer {
    if isOwned != nil { callCount += 1 } else { tasks[key] = task }
    if isReplaying {
      called.insert(key)
      if let isOwned { calledSteps.append((key, isOwned)) }
      if case .call(let stored)? = traces[task]?.first {
        if stored == key {
          traces[task]?.removeFirst()
        } else if !mayBeLeft {
          differences[stored] = differences[stored] ?? key
        }
      }
    }
    if late.remove(key) != nil { add(.end(key)) }
    if pending.contains(key) {
      calls[key] = .performing
      return .stored
    }
    guard isReplaying else {
      calls[key] = .performing
      return .now
    }
    calls[key] = .new(permit, deadline: deadline)
    new.append(key)
    return .later
  }

  /// A task is about to call for something; returns whether it waits, because it had been elsewhere before.
  ///
  /// It may not have departed this time, such as for an actor that is free.
  mutating func mustWaitToCall(_ task: Int, _ once: Once<Void>) -> Bool {
    guard isReplaying, traces[task]?.first == .returned else { return false }
    waitingToCall[task] = once
    return true
  }

  /// A step or a wait that works continues when its turn has come; returns false when the code does not wait for it.
  mutating func wait(for key: String, _ once: Once<Void>) -> Bool {
    guard isPerforming(key) else { return false }
    calls[key] = .ended(once)
    if late.remove(key) != nil { add(.end(key)) }
    return true
  }

  /// Returns the task of a wait that ends.
  mutating func takeTask(of key: String) -> Int { tasks.removeValue(forKey: key) ?? 0 }

  /// The end of a step or a wait is the next event.
  mutating func end(_ key: String) { add(.end(key)) }

  /// The run is cancelled, which the code learns when so many events are stored.
  mutating func cancel(reason: String?, after eventCount: Int) {
    // The first step of a run that has not begun does not begin either.
    if arrivals.isEmpty, callCount == 0 { (storedCount, isReplaying) = (1, true) }
    add(.cancelled(reason: reason), after: eventCount)
  }

  /// The code does not wait for something any more; returns whether it did.
  @discardableResult
  mutating func leave(_ key: String) -> Bool {
    guard calls.removeValue(forKey: key) != nil else { return false }
    tasks[key] = nil
    if pending.contains(key) { left.insert(key) }
    return true
  }

  /// Whether the end of a step or a wait is to be delivered.
  func isStored(_ key: String) -> Bool { pending.contains(key) || late.contains(key) }

  /// Whether the code waits for a step or a wait.
  func isCalled(_ key: String) -> Bool { calls[key] != nil }

  /// Whether the code waits for any.
  var hasCalls: Bool { !calls.isEmpty }

  /// Whether something works, or is on its way back.
  func isPerforming(_ key: String) -> Bool { if case .performing? = calls[key] { true } else { false } }

  private var isPerforming: Bool { calls.values.contains { if case .performing = $0 { true } else { false } } }

  /// Whether the code waits for something that does not end, after which it may call for what comes next.
  private var isLate: Bool { !late.isEmpty && isPerforming }

  /// Removes all that waits: the run stops.
  mutating func takeAll() -> [Once<Void>] {
    defer { calls = calls.filter { if case .performing = $0.value { true } else { false } } }
    let waitingToCall = exchange(&waitingToCall, with: [:]).values
    return waitingToCall
      + calls.values.compactMap { call in
        switch call {
        case .new(let once, _), .ended(let once): once
        case .performing: nil
        }
      }
  }

  // MARK: - Deliveries

  /// Whether everything that is stored was delivered.
  var isReplayed: Bool { head >= storedCount }

  /// Returns what comes next while all of the code waits.
  ///
  /// - Parameters:
  ///   - eventCount: The number of events that are stored.
  ///   - held: The tasks that have returned from elsewhere and wait to go on.
  ///   - now: The time.
  /// - Returns: What is to be done.
  mutating func next(after eventCount: Int, held: [Int], now: Int) -> Action {
    guard !isBlocked else { return .rest }
    while head < arrivals.count {
      let (arrival, count) = arrivals[head]
      switch arrival {
      case .end(let key):
        switch calls[key] {
        case .ended(let once)?:
          calls[key] = nil
          advance()
          return .resume(once)
        case .performing?: return isReplayed ? .rest : .wait(for: .work)
        case .new?, nil:
          if left.remove(key) != nil { break }
          guard isLate else { return missing(key, held) }
          late.insert(key)
        }
      case .began(let key): guard called.contains(key) || isLate else { return missing(key, held) }
      case .returned(let task):
        if let once = waitingToCall.removeValue(forKey: task) {
          hasReturned(task)
          return .resume(once)
        }
        guard held.contains(task) else { return .wait(for: .code) }
        hasReturned(task)
        return .admit(task: task, isNew: false)
      case .cancelled(let reason):
        guard count <= eventCount else { return .rest }
        advance()
        return .interrupt(reason: reason)
      }
      advance()
    }
    if isReplaying { endReplay() }
    if let task = held.first { return .admit(task: task, isNew: true) }
    return beginNew(at: now)
  }

  private mutating func hasReturned(_ task: Int) {
    advance()
    if traces[task]?.first == .returned { traces[task]?.removeFirst() }
  }

  private mutating func advance() {
    if case .end(let key) = arrivals[head].arrival { pending.remove(key) }
    head += 1
    guard head > 1_024, 2 * head > arrivals.count else { return }
    arrivals.removeFirst(head)
    (head, storedCount) = (0, max(0, storedCount - head))
  }

  private mutating func endReplay() {
    (isReplaying, called, calledSteps, stepCalls) = (false, [], [], [:])
    (traces, differences) = ([:], [:])
  }

  /// What begins after the replay: first those waits whose time is over already end, in their order.
  private mutating func beginNew(at now: Int) -> Action {
    var waiting: [(key: String, once: Once<Void>, deadline: Int?)] = []
    for key in new {
      if case .new(let once, let deadline)? = calls[key] { waiting.append((key, once, deadline)) }
    }
    let over = waiting.filter { $0.deadline.map { $0 <= now } ?? false }
    if let first = over.min(by: { $0.deadline ?? 0 < $1.deadline ?? 0 }) {
      calls[first.key] = .ended(first.once)
      return .expire(first.key)
    }
    new = []
    guard !waiting.isEmpty else { return .rest }
    for call in waiting { calls[call.key] = .performing }
    return .begin(waiting.map(\.once))
  }

  /// A stored step or wait comes next, and the code has not called for it.
  private mutating func missing(_ key: String, _ held: [Int]) -> Action {
    if let found = differences[key] ?? call(insteadOf: key) { return .differ(stored: key, found: found) }
    // One that had not departed before where it is now.
    if let task = held.first(where: { traces[$0]?.first != .returned }) {
      return .admit(task: task, isNew: false)
    }
    return .wait(for: .call(key))
  }

  /// The step that the code has called in the place of a stored one; nil when it may still call that.
  ///
  /// By then, code that has not changed has called as many steps as before. Child tasks that return from elsewhere may
  /// call stored steps in another order.
  private func call(insteadOf key: String) -> String? {
    guard let count = stepCalls[key], callCount >= count else { return nil }
    let open = calledSteps.filter { calls[$0.key] != nil }
    let scope = DurableLog.scope(of: key)
    let isIn = { (other: String) in DurableLog.scope(of: other) == scope }
    return open.last { $0.isOwned && isIn($0.key) }?.key
      ?? open.last { stepCalls[$0.key] == nil && isIn($0.key) }?.key ?? open.last { stepCalls[$0.key] == nil }?.key
  }

  /// Does not wait any more for what comes next.
  ///
  /// - Returns: A stored step that the code has not called although nothing works that it could wait for.
  mutating func skip() -> String? {
    guard head < arrivals.count else { return nil }
    switch arrivals[head].arrival {
    case .returned(let task): hasReturned(task)
    case .end(let key), .began(let key):
      guard isPerforming else { return key }
      // The code waits for something that does not end, such as a gate that another run occupies.
      while head < storedCount {
        switch arrivals[head].arrival {
        case .end(let key):
          if case .ended? = calls[key] { return nil }
          late.insert(key)
        case .began: break
        case .returned, .cancelled: return nil
        }
        advance()
      }
    case .cancelled: break
    }
    return nil
  }

  /// The steps that wait for the end of the replay.
  var waiting: [String] { calledSteps.map(\.key).filter { if case .new? = calls[$0] { true } else { false } } }
}
