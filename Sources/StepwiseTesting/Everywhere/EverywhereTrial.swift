// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Runs a chain repeatedly, interrupted each time at another point, and checks its guarantees.
struct EverywhereTrial<Input: Sendable, Output: Sendable>: Sendable {
  /// How a run is interrupted.
  enum Disturbance: Sendable {
    case none
    case cancel(Origin, atStep: Int, of: Int)
    case fail(step: Int, name: String)
  }

  /// The source of the cancellation.
  enum Origin: String, Sendable, CaseIterable {
    case task = "its Task"
    case token = "its token"
    case handle = "its handle"
  }

  /// The record of a run.
  struct Record: Sendable {
    let probe: RunProbe
    let outcome: Outcome<Output>?
    /// Whether the chain has an overlap policy that may refuse a run.
    let isGated: Bool
    let finalizations: Int
    let aliveTasks: Int
    let steps: Int
    let report: SeededExecutorState
  }

  let input: Input
  let caller: SimulationCaller
  let makeChain: @Sendable (RunProbe) async throws -> Chain<Input, Output>

  /// Runs the chain undisturbed, and checks that run.
  func undisturbed() async throws -> Record {
    let record = try await record(.none, comesBack: true)
    try check(record, .none, against: nil)
    return record
  }

  /// Runs the chain once with each disturbance, and checks those runs.
  ///
  /// - Returns: The number of disturbances.
  func compare(_ disturbances: [Disturbance], with plain: Record) async throws -> Int {
    // Each run is the plain one up to its interruption, so a nested chain that had begun has begun in every later run.
    var begun: Set<String> = []
    for disturbance in disturbances {
      try Task.checkCancellation()
      let record = try await record(disturbance, comesBack: plain.report.hasComeBack)
      try check(record, disturbance, against: plain, begun: begun)
      begun.formUnion(record.finalized)
    }
    return disturbances.count
  }

  /// The number of suspension points of a run that can be cancelled in this way.
  func pointCount(_ origin: Origin, like plain: Record) async throws -> Int {
    try await record(.cancel(origin, atStep: .max, of: 0), comesBack: plain.report.hasComeBack).steps
  }

  /// Runs the chain once; jobs of the run may come back from outside, or never do.
  private func record(_ disturbance: Disturbance, comesBack: Bool) async throws -> Record {
    let interruption = Lock(Interruption())
    let tracker = LifetimeTracker()
    let finalizations = Lock(0)
    let probes = Lock<RunProbe?>(nil)
    let isGated = Lock(false)
    let body: @Sendable (ManualClock) async throws -> Outcome<Output> = { clock in
      let failingStep: Int? = if case .fail(let step, _) = disturbance { step } else { nil }
      let probe = RunProbe(clock: clock, failingStep: failingStep)
      probes.withLock { $0 = probe }
      let chain = try await makeChain(probe).then { output in
        probe.ended()
        return output
      }
      .finally { _ in finalizations.withLock { $0 += 1 } }
      isGated.withLock { $0 = chain.isGated }
      return await EverywhereLocals.$token.withValue(tracker.track()) {
        await run(chain, disturbance) { action in _ = interruption.withLock { exchange(&$0, with: action) } }
      }
    }
    let attempt = await Simulator(comesBack: comesBack, body: body).attempt(.steady) {
      interruption.withLock { $0.reached() }?()
    }
    guard let probe = probes.withLock({ $0 }) else { throw attempt.error ?? SimulationError.stalled }
    if probe.marks.isEmpty, let error = attempt.error, error as? SimulationError != .stalled { throw error }
    return Record(
      probe: probe,
      outcome: try? attempt.result.get(),
      isGated: isGated.withLock { $0 },
      finalizations: finalizations.withLock { $0 },
      aliveTasks: tracker.alive,
      steps: interruption.withLock { $0.count },
      report: attempt.report
    )
  }

  private func run(
    _ chain: Chain<Input, Output>,
    _ disturbance: Disturbance,
    _ interrupt: (Interruption) -> Void
  ) async -> Outcome<Output> {
    var (origin, point) = (Origin.task, Int.max)
    if case .cancel(let chosen, let step, _) = disturbance { (origin, point) = (chosen, step) }
    do {
      switch origin {
      case .task:
        let task = Task { [input] in try await chain.run(input) }
        interrupt(Interruption(point: point) { task.cancel() })
        return .resolved(try await task.value)
      case .token:
        let token = CancellationToken()
        interrupt(Interruption(point: point) { token.cancel(reason: "everywhere") })
        return .resolved(try await withCancellation(by: token) { [input] in try await chain.run(input) })
      case .handle:
        let run = chain.start(input)
        interrupt(Interruption(point: point) { run.cancel(reason: "everywhere") })
        return await run.outcome
      }
    } catch is CancellationError {
      return .cancelled(Cancellation())
    } catch {
      return .failed(error)
    }
  }

  /// Whether a run was never admitted by its overlap policy, so that it calls no handler.
  private func isRefused(_ record: Record) -> Bool {
    guard case .cancelled? = record.outcome else { return false }
    return record.isGated && record.probe.marks.isEmpty && record.finalizations == 0
  }

  /// Throws when the record violates a guarantee.
  private func check(
    _ record: Record,
    _ disturbance: Disturbance,
    against plain: Record?,
    begun: Set<String> = []
  ) throws {
    var violations: [String] = []
    if record.outcome == nil { violations.append("The run does not complete.") }
    if record.finalizations != 1, !isRefused(record) {
      violations.append("A `finally` handler of the whole chain ran \(record.finalizations) times, not once.")
    }
    if let plain, !isRefused(record) {
      let (expected, all) = (plain.ownFinalized, record.finalized)
      let found = all.filter(expected.contains)
      if found != expected { violations.append("The `finally` handlers \(found) ran, not \(expected).") }
      for name in begun.subtracting(expected).subtracting(all).sorted() {
        violations.append("The `finally` handler '\(name)' of a nested chain that had begun did not run.")
      }
    }
    violations += undoViolations(record, own: (plain ?? record).ownFinalized)
    if record.aliveTasks > 0 { violations.append("A task that the run started is still alive: nothing resumes it.") }
    let sleepers = record.probe.clock.sleeperCount
    if sleepers > 0 { violations.append("\(sleepers) tasks still sleep on the clock.") }
    if record.probe.aliveObjects > 0 {
      violations.append("\(record.probe.aliveObjects) tracked objects are not released.")
    }
    guard !violations.isEmpty else { return }
    throw EverywhereFailure(
      disturbance: disturbance.description,
      violations: violations,
      trace: record.report.trace,
      fileID: caller.fileID,
      filePath: caller.filePath,
      line: caller.line,
      column: caller.column
    )
  }

  /// Whether what completed was undone, and if so, whether in the right order.
  private func undoViolations(_ record: Record, own: [String]) -> [String] {
    let counts = countViolations(record)
    return counts.isEmpty ? orderViolations(record, own: own) : counts
  }

  /// Steps that were not undone once; a missing undo would also look like a wrong order of the others.
  private func countViolations(_ record: Record) -> [String] {
    var (completed, standing): ([String], [String]) = ([], [])
    var violations: [String] = []
    func add(_ violation: String) { if !violations.contains(violation) { violations.append(violation) } }
    for mark in record.probe.marks {
      switch mark {
      case .completed(let name):
        completed.append(name)
        standing.append(name)
      case .undone(let name):
        if let index = standing.lastIndex(of: name) {
          standing.remove(at: index)
        } else {
          add(
            completed.contains(name) ? "'\(name)' was undone twice." : "'\(name)' was undone, but it had not completed."
          )
        }
      case .finalized, .ended: break
      }
    }
    for name in record.isResolved ? [] : standing { add("'\(name)' completed and was not undone.") }
    return violations
  }

  /// Handlers of a nested chain may run before the steps around it are undone.
  private func orderViolations(_ record: Record, own: [String]) -> [String] {
    var completed: [String] = []
    for (position, mark) in record.probe.marks.enumerated() {
      switch mark {
      case .completed(let name):
        completed.append(name)
      case .undone(let name):
        let last = completed.popLast()
        if let last, last != name {
          let isUndone = record.probe.marks[position...].contains(.undone(last))
          return ["'\(name)' was undone \(isUndone ? "before" : "and not") '\(last)', which completed later."]
        }
      case .finalized(let name):
        guard record.isResolved || completed.isEmpty || !own.contains(name) else {
          return ["The `finally` handler '\(name)' ran before \(completed) were undone."]
        }
      case .ended: break
      }
    }
    return []
  }
}

extension EverywhereTrial.Record {
  var isResolved: Bool {
    if case .resolved = outcome { true } else { false }
  }

  /// The handlers of the chain itself: a nested chain calls its own before the last step has completed.
  ///
  /// All of them, where that step did not complete.
  var ownFinalized: [String] {
    let ends = probe.marks.lastIndex(of: .ended).map { probe.marks[$0...] } ?? probe.marks[...]
    return ends.compactMap { mark in if case .finalized(let name) = mark { name } else { nil } }
  }

  var finalized: [String] {
    probe.marks.compactMap { mark in if case .finalized(let name) = mark { name } else { nil } }
  }
}

extension EverywhereTrial.Disturbance: CustomStringConvertible {
  var description: String {
    switch self {
    case .none: "undisturbed"
    case .cancel(let origin, let step, let count):
      "cancelled by \(origin.rawValue) at suspension point \(step + 1) of \(count)"
    case .fail(_, let name): "with a failure at '\(name)'"
    }
  }
}

/// A task-local value that every task of a run retains during its lifetime.
private enum EverywhereLocals {
  @TaskLocal static var token: LifetimeTracker.Tracked?
}

/// An action to perform when a number of suspension points has been reached.
private struct Interruption: Sendable {
  var point = Int.max
  var action: (@Sendable () -> Void)?
  /// The number of suspension points since there is an action.
  var count = 0

  /// Counts a suspension point; returns the action if it is the one.
  mutating func reached() -> (@Sendable () -> Void)? {
    guard let action else { return nil }
    count += 1
    return count - 1 == point ? action : nil
  }
}
