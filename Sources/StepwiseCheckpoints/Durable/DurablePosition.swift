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
  /// Whether the code does not run on the executor of the run: the body of a step, or what the code waits for.
  let isBody: Bool
  private let calls = Lock(Calls())
  private let owner = DurablePosition.taskIdentity

  /// What the code here has called.
  private struct Calls {
    var counts: [String: Int] = [:]
    /// The last step that has thrown the error of a stop; noted under ``CaughtStop`` alone.
    var stopped: String?
  }

  init(_ run: DurableRun, scope: String, step: String?, isUndo: Bool = false, isBody: Bool = false) {
    self.run = run
    self.scope = scope
    self.step = step
    self.isUndo = isUndo
    self.isBody = isBody
  }

  /// The identity of the current task.
  static var taskIdentity: Int { withUnsafeCurrentTask { $0?.hashValue ?? 0 } }

  /// Whether the running task is the one that has opened the place, and calls one step there after another.
  var isOwned: Bool { owner == Self.taskIdentity }

  /// The run that awaits what the running code awaits; nil outside of durable runs, and in undos.
  static var awaiting: DurableRun? { current.flatMap { $0.isUndo ? nil : $0.run } }

  /// A step has thrown the error of a stop, which code that has no reason to catch it passes on.
  func noteStop(at step: String) { if isOwned { calls.withLock { $0.stopped = step } } }

  /// The code here has returned a value.
  func returned() {
    guard let report = CaughtStop.report, let step = calls.withLock({ $0.stopped }) else { return }
    report(step)
  }

  /// Returns the key of a step or a place that is called here: names are numbered in the order of the calls.
  func open(_ name: String) -> String {
    let occurrence = calls.withLock { calls in
      calls.counts[name, default: 0] += 1
      return calls.counts[name] ?? 1
    }
    return DurableLog.key(name, occurrence, in: scope)
  }

  /// Returns the key of the next step with a name, without calling it.
  func next(_ name: String) -> String {
    DurableLog.key(name, calls.withLock { $0.counts[name, default: 0] } + 1, in: scope)
  }

  /// Returns the key of a wait here, which no step has.
  func openWait() -> String {
    let number = calls.withLock { calls in
      calls.counts["%", default: 0] += 1
      return calls.counts["%"] ?? 1
    }
    return scope + "/%\(number)"
  }
}

/// Where a test learns of code that has caught the error of a stop and returned a value, which means nothing.
package enum CaughtStop {
  /// Receives the name of the step that had thrown the error.
  @TaskLocal package static var report: (@Sendable (_ step: String) -> Void)?
}
