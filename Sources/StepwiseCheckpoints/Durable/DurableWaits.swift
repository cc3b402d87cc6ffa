// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// What a step of a run waits for, without doing anything.
package struct DurableWait: Hashable, Sendable {
  /// When the wait ends, in milliseconds since 1970; nil when only a signal ends it.
  package let end: Int?
  /// The signals of which the first ends it; none for a sleep.
  package let signals: [String]
  /// The other runs whose ends it waits for.
  package let children: [String]

  package init(end: Int?, signals: [String] = [], children: [String] = []) {
    self.end = end
    self.signals = signals
    self.children = children
  }
}

/// Who executes a run besides its process: what is done while a run only waits, and where its signals come from.
// A protocol although one type conforms, which another module defines.
package protocol DurableHost: Sendable {
  /// Nothing of the run works until one of the waits ends; returns false for a run that is to be stopped instead.
  func park(_ waits: [DurableWait]) -> Bool
  /// Something of the run works again; returns when it may.
  func unpark() async
  /// A run that waits is about to stop, and is to be resumed at the end of a wait; at once if it waits for nothing.
  func suspend(_ waits: [DurableWait])
  /// Returns signals of some names that are not consumed, with their numbers, oldest first.
  func signals(_ names: [String], limit: Int) async throws -> [(number: Int, name: String, value: [UInt8])]
  /// Prepares a wait for news of signals, which ends after a time as well.
  func news() -> @Sendable (_ limit: Duration) async -> Void
  /// A step cannot read a signal, and skips it; another step may read it.
  func refuse(_ signal: Int, of name: String, _ error: any Error) async
  /// A step waits for a signal of a name that it can read; nil when it no longer does.
  func expect(_ name: String, at step: String, _ expectation: SignalExpectation?)
  /// The clock by which waits are measured.
  var clock: any Clock<Duration> { get }
  /// Whether a run that fails stops, so that it can continue, instead of being undone.
  var holdsFailures: Bool { get }
  /// The codecs with which the host stores what the run does.
  var codecs: PayloadCodecs? { get }
}

extension DurableHost {
  package func refuse(_ signal: Int, of name: String, _ error: any Error) async {}
  package func expect(_ name: String, at step: String, _ expectation: SignalExpectation?) {}
  package var clock: any Clock<Duration> { ContinuousClock() }
  package var holdsFailures: Bool { false }
  package var codecs: PayloadCodecs? { nil }
}

/// An error of a host that says nothing about the work of a step: it stops the run.
package struct HostFailure: Error {
  let error: any Error

  package init(_ error: any Error) { self.error = error }
}

/// The type of the signal that a step waits for.
package struct SignalExpectation: Sendable {
  /// The name of the type.
  package let type: String
  package let isReadable: @Sendable (_ value: [UInt8]) -> Bool

  package init<Value: Codable & Sendable>(_ type: Value.Type) {
    self.type = "\(type)"
    isReadable = { (try? DurableValues(Value.self).decode($0)) != nil }
  }
}

/// A signal that a wait can receive, and how it becomes the value of the wait.
package struct SignalCase<Value: Sendable>: Sendable {
  package let name: String
  package let expectation: SignalExpectation
  package let decode: @Sendable (_ bytes: [UInt8]) throws -> Value

  package init<Signal: Codable & Sendable>(
    _ name: String,
    _ type: Signal.Type,
    _ transform: @escaping @Sendable (Signal) -> Value
  ) {
    self.name = name
    expectation = SignalExpectation(type)
    decode = { transform(try DurableValues(Signal.self).decode($0)) }
  }
}

/// Which steps of a run work and which wait: a run is parked while all of its steps in progress wait, or contain one that
/// does.
package struct DurableWaits: Sendable {
  private var working: Set<String> = []
  /// The steps and the other work that were called and whose ends the code has not received, and the undos.
  private var undelivered: Set<String> = []
  private var waits: [String: DurableWait] = [:]
  /// The steps whose waits are cancelled, and about to end: a race that is decided waits for nothing.
  private var cancelled: Set<String> = []
  /// When limits, and other waits between steps, are over, by their keys.
  private var limits: [String: Int] = [:]
  /// The limits in the bodies of steps, and the places that they limit.
  private var bodyLimits: [String: (scope: String, end: Int, isOver: Bool)] = [:]
  private var limitCounts: [String: Int] = [:]
  /// The signals that steps have received, by their keys, until they are consumed.
  private(set) var received: [String: Int] = [:]
  /// The signals that a step cannot read, by their keys.
  private var unreadable: [String: Set<Int>] = [:]
  package private(set) var isParked = false
  /// Whether the host keeps no slot for a parked run, which is stopped once its code waits, too.
  package private(set) var isToStop = false
  /// Whether something of a parked run is to work again, and waits until it may.
  private var isWaking = false

  package init() {}

  package var all: [DurableWait] { Array(waits.values) }

  /// What a run that is stopped while it is parked waits for; nothing when one of its waits is over already.
  package var pending: [DurableWait] { isWaking ? [] : allWithLimits }

  /// What a run waits for that is stopped now; nothing when its code is to receive an end.
  package var suspending: [DurableWait] { undelivered.allSatisfy(containsWait) ? pending : [] }

  private var allWithLimits: [DurableWait] {
    all + (Array(limits.values) + limitsAroundWaits.map(\.end)).map { DurableWait(end: $0) }
  }

  /// The limits in the bodies of steps that wait there.
  var limitsAroundWaits: [(key: String, end: Int)] {
    bodyLimits.filter { _, limit in containsWait(limit.scope) }.map { ($0, $1.end) }
  }

  /// Returns the key of a limit in the body of a step: attempts of it begin in the same order whenever it is repeated.
  mutating func nextLimit(in scope: String) -> String {
    bodyLimits = bodyLimits.filter { _, limit in !limit.isOver || limit.scope != scope }
    limitCounts[scope, default: 0] += 1
    return scope + "/%limit\(limitCounts[scope] ?? 1)"
  }

  /// A limit in the body of a step begins.
  mutating func begin(limit key: String, inBody scope: String, _ end: Int) { bodyLimits[key] = (scope, end, false) }

  /// A limit in the body of a step is over, or was left; what it limits may still wait for a moment.
  mutating func end(bodyLimit key: String, isOver: Bool) {
    if isOver { bodyLimits[key]?.isOver = true } else { bodyLimits[key] = nil }
  }

  /// A wait between steps begins.
  mutating func begin(limit key: String, _ end: Int?) { limits[key] = end }

  /// A wait between steps is over, or was left.
  mutating func end(limit key: String) { limits[key] = nil }

  /// A body begins; returns whether the run was parked.
  package mutating func begin(_ key: String) -> Bool {
    working.insert(key)
    return wake()
  }

  private mutating func wake() -> Bool {
    isWaking = isParked
    return isParked
  }

  /// A body has ended; returns whether the run is parked from now on.
  package mutating func end(_ key: String) -> Bool {
    working.remove(key)
    return park()
  }

  /// The code waits for a step whose body is to run or for other work, or a step is undone; returns whether that is new.
  package mutating func called(_ key: String) -> Bool { undelivered.insert(key).inserted }

  /// The code has received the end of a step or of other work, or a step was undone; returns whether that was called.
  package mutating func delivered(_ key: String) -> Bool { undelivered.remove(key) != nil }

  /// The host does not park the run.
  package mutating func refused() { isToStop = true }

  /// What a run waits for that is to be stopped; nil while something of it works, or its code is to receive an end.
  package var stopping: [DurableWait]? {
    guard isToStop, isParked, !isWaking, undelivered.allSatisfy(containsWait) else { return nil }
    return allWithLimits
  }

  private func containsWait(_ step: String) -> Bool {
    waits.keys.contains { !cancelled.contains($0) && Self.isInside($0, step) }
  }

  /// The wait of a step is cancelled.
  package mutating func cancel(_ key: String) { if waits[key] != nil { cancelled.insert(key) } }

  /// A step waits; returns whether the run is parked from now on.
  package mutating func wait(_ wait: DurableWait, at key: String, isCancelled: Bool = false) -> Bool {
    waits[key] = wait
    if isCancelled { cancelled.insert(key) }
    return park()
  }

  private mutating func park() -> Bool {
    guard !isParked, !waits.isEmpty else { return false }
    isParked = working.allSatisfy(containsWait)
    return isParked
  }

  /// A step waits no longer; returns whether the run was parked.
  package mutating func resume(_ key: String) -> Bool {
    waits[key] = nil
    cancelled.remove(key)
    return wake()
  }

  /// The run works again.
  package mutating func unparked() { (isParked, isWaking, isToStop) = (false, false, false) }

  package mutating func receive(_ signal: Int, at key: String) -> Bool {
    guard !received.values.contains(signal) else { return false }
    received[key] = signal
    return true
  }

  /// A step skips a signal that it cannot read.
  package mutating func skip(_ signal: Int, at key: String) { unreadable[key, default: []].insert(signal) }

  package func isSkipped(_ signal: Int, at key: String) -> Bool { unreadable[key]?.contains(signal) == true }

  /// How many signals a step has to see at most to see one that it can receive.
  package func count(at key: String) -> Int { received.count + unreadable[key, default: []].count + 1 }

  /// The signals that a step, or a step in its body, has received are consumed, or the step has failed.
  package mutating func consume(in step: String) -> [Int] {
    let keys = received.keys.filter { Self.isInside($0, step) }
    return keys.compactMap { received.removeValue(forKey: $0) }.sorted()
  }

  /// Whether a scope is that of a step or within it.
  static func isInside(_ scope: String, _ key: String) -> Bool {
    scope.utf8.elementsEqual(key.utf8) || DurableLog.contains(key, scope)
  }
}
