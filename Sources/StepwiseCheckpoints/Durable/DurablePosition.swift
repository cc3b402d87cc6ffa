// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Where the running code is in a durable run: the place that its steps belong to.
final class DurablePosition: Sendable {
  @TaskLocal static var current: DurablePosition?

  let run: DurableRun
  /// The path of the place, with its attempt or branch.
  let scope: String
  /// The step that the code is part of; nil between the steps of the chain.
  let step: String?
  /// Whether the code undoes that step.
  let isUndo: Bool
  /// Whether the code is the body of a step, which does not run on the executor of the run.
  let isBody: Bool
  /// The length of the path of the code that calls the steps here one after another, also at places around this one.
  private let thread: Int
  private let place: Place

  /// What the positions at one place share.
  final class Place: Sendable {
    let names = Lock(StepNames())
    /// The task that the code of the place runs in.
    let owner = DurablePosition.task
  }

  init(
    _ run: DurableRun,
    scope: String,
    step: String?,
    isUndo: Bool = false,
    isBody: Bool = false,
    thread: Int = 0,
    at place: Place = Place()
  ) {
    self.run = run
    self.scope = scope
    self.step = step
    self.isUndo = isUndo
    self.isBody = isBody
    self.thread = thread
    self.place = place
  }

  /// The identity of the current task.
  ///
  /// The owner of a place exists for as long as the place, so no other task has its identity during that time.
  static var task: Int { withUnsafeCurrentTask { $0?.hashValue ?? 0 } }

  /// The run that awaits what the running code awaits; nil outside of durable runs, and in undos.
  static var awaiting: DurableRun? { current.flatMap { $0.isUndo ? nil : $0.run } }

  /// Returns the key and the thread of a step that is called here; nil when the name is used up.
  func name(_ step: JournalStep) -> (key: String, thread: Int?)? {
    let isOwner = step.isPlanned || isOwned
    guard let occurrence = place.names.withLock({ $0.next(step.name, isOwner: isOwner) }) else { return nil }
    return (DurableLog.key(step.name, occurrence, in: scope), isOwner ? thread : nil)
  }

  /// Whether the running task is the one that calls the steps here.
  private var isOwned: Bool { place.owner == Self.task }

  /// The path of the running code, if it calls the steps here one after another.
  var ownThread: String? { isOwned ? DurableLog.thread(thread, of: scope) : nil }

  /// Returns the length of the path of the code at a place inside this one: that of a branch, or of a child task, is the
  /// place itself.
  ///
  /// Without a place, the running task continues for the one that waits for it here.
  func thread(inside place: String?, scope: String, branch: Int?) -> Int {
    if branch != nil { return scope.utf8.count }
    return place.map { isOwned ? thread : $0.utf8.count } ?? thread
  }

  /// Returns the key of the next step with a name, without calling it.
  func next(_ name: String) -> String {
    DurableLog.key(name, place.names.withLock { $0.count(of: name) } + 1, in: scope)
  }

  /// Returns the key of a place that the engine opens here.
  func open(_ name: String) -> String {
    DurableLog.key(name, place.names.withLock { $0.open(name) }, in: scope)
  }
}

/// The names of the steps that were called at one place.
///
/// Only the task that owns the place calls them in an order that is the same in each run, so only there a name may be
/// repeated.
package struct StepNames {
  private var counts: [String: Int] = [:]
  private var foreign: Set<String> = []

  package init() {}

  /// Returns the occurrence of the name; nil for a name that no other step of the place may have.
  package mutating func next(_ name: String, isOwner: Bool) -> Int? {
    guard !foreign.contains(name) else { return nil }
    if isOwner { return open(name) }
    guard counts[name] == nil else { return nil }
    foreign.insert(name)
    return 1
  }

  func count(of name: String) -> Int { counts[name, default: 0] }

  package mutating func open(_ name: String) -> Int {
    counts[name, default: 0] += 1
    return counts[name] ?? 1
  }
}
