// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

extension RunTrace {
  init(of readings: [RunReading], droppedRunCount: Int) {
    let builders = readings.map(TraceBuilder.init)
    var owners: [UInt64: TraceBuilder.Node] = [:]
    for builder in builders { owners.merge(builder.runs) { first, _ in first } }
    var roots: [TraceBuilder.Node] = []
    for builder in builders {
      guard let id = builder.run.parentID, let owner = owners[id], owner !== builder.root else {
        roots.append(builder.root)
        continue
      }
      // The step of the outer run that was running, or a handler of that run.
      let start = builder.root.start
      let step = owner.holder.children.last { $0.kind == .step && $0.start <= start && start <= $0.end ?? start }
      (step ?? owner.holder).children.append(builder.root)
    }
    let now = readings.map(\.now).max() ?? .zero
    let origin = roots.map(\.start).min() ?? .zero
    runs = roots.sorted { $0.start < $1.start }.map { Span($0, since: origin, until: now) }
    droppedEventCount = readings.reduce(0) { $0 + $1.droppedCount }
    self.droppedRunCount = droppedRunCount
  }
}

extension RunTrace.Span {
  fileprivate init(_ node: TraceBuilder.Node, since origin: Duration, until now: Duration) {
    kind = node.kind
    name = node.name
    role = node.role
    start = node.start - origin
    duration = (node.end ?? max(now, node.start)) - node.start
    attempt = node.attempt
    status = node.status
    detail = node.detail
    order = node.order
    isUndone = node.isUndone
    notes = node.notes.map { RunTrace.Note(time: $0.time - origin, text: $0.text, order: $0.order) }
    // Sorting is stable, so that what starts at the same time stays in order.
    children = node.children.sorted { $0.start < $1.start }.map { RunTrace.Span($0, since: origin, until: now) }
  }
}

/// Rebuilds the spans of runs from their logs.
struct TraceBuilder {
  /// A span that may not have ended.
  final class Node {
    let kind: RunTrace.Kind
    let name: String
    let steps: Range<Int>
    let role: String?
    var attempt = 1
    /// The position among the events; a run that a step started follows them.
    var order = Int.max
    /// How many runs of the log contain it, if it is a run.
    var depth = 0
    /// The innermost run around it that may have children, if it is nested too deeply to have any.
    unowned var shallower: Node?
    /// Where its steps and runs are shown.
    var holder: Node { shallower ?? self }
    var start: Duration
    var end: Duration?
    var status = RunTrace.Status.running
    var detail: String?
    var isUndone = false
    var notes: [RunTrace.Note] = []
    var children: [Node] = []

    init(
      _ kind: RunTrace.Kind,
      _ name: String,
      _ steps: Range<Int>,
      role: String? = nil,
      start: Duration
    ) {
      self.kind = kind
      self.name = name
      self.steps = steps
      self.role = role
      self.start = start
    }

    func end(at time: Duration, _ status: RunTrace.Status, _ detail: String? = nil) {
      end = time
      self.status = status
      self.detail = detail
    }
  }

  /// Runs that are nested more deeply are siblings, because a tree of thousands of levels exhausts the stack, and its
  /// text grows with the square of the depth.
  private static let maxDepth = 32

  let run: RunReading
  let root: Node
  private(set) var runs: [UInt64: Node] = [:]
  private var openRuns: [Node]
  private var eventCount = 0
  private var openSteps: [Int: Node] = [:]
  /// The newest attempt of each step.
  private var attempts: [Int: Node] = [:]

  init(_ run: RunReading) {
    self.run = run
    root = Node(.run, run.name ?? run.name(of: run.steps), run.steps, start: run.start)
    openRuns = [root]
    if let id = run.id { runs[id] = root }
    for entry in run.entries { add(entry) }
    // What has not ended when the run has was abandoned.
    guard let end = root.end else { return }
    for node in openRuns.dropFirst() + openSteps.values where node.end == nil { node.end(at: end, .abandoned) }
  }

  private mutating func add(_ entry: RunLog.Entry) {
    let (index, time) = (Int(entry.step), entry.time)
    eventCount += 1
    let steps = index..<index + max(0, Int(entry.number))
    switch entry.event {
    case .runStarted(let identity, let nesting): startRun(steps, identity?.name, nesting, at: time)
    case .runIdentified(let id): runs[id] = openRuns.last { $0.steps.lowerBound == index } ?? root
    case .runSucceeded: endRun(steps)?.end(at: time, .succeeded)
    case .runFailed(let failure):
      let node = endRun(steps)
      node?.end(at: time, .failed, text(failure, node === root ? run.error : nil))
    case .runCancelled(let cause):
      endRun(steps)?.end(at: time, .cancelled, [cause.source, cause.reason].compactMap { $0 }.joined(separator: ": "))
    case .stepStarted:
      let step = Node(.step, run.step(index).description, index..<index + 1, start: time)
      step.attempt = (attempts[index]?.attempt ?? 0) + 1
      step.order = eventCount
      parent(of: step.steps).holder.children.append(step)
      attempts[index] = step
      openSteps[index] = step
    case .stepFinished(let failure):
      guard let step = openSteps.removeValue(forKey: index) else { return }
      guard let failure else { return step.end(at: time, .succeeded) }
      step.end(at: time, failure.isCancellation ? .cancelled : .failed)
      if !failure.isCancellation { step.detail = text(failure, isLatest(step) ? run.latestErrors[index] : nil) }
    case .attemptFailed(let failure):
      let node = openSteps[index] ?? parent(of: index..<index + 1)
      note("attempt \(entry.number) failed: \(text(failure))", at: time, on: node)
    case .undone(let failure):
      attempts[index]?.isUndone = failure == nil
      let text = failure.map { "undo of \(run.step(index)) failed: \(self.text($0))" } ?? "undid \(run.step(index))"
      note(text, at: time, on: parent(of: index..<index + 1))
    case .timedOut:
      note("timed out", at: time, on: parent(of: steps))
      for index in steps {
        guard let step = attempts[index], step.status == .cancelled, step.detail == nil else { continue }
        step.detail = "timed out"
      }
    case .abandoned(let depth):
      for (index, step) in openSteps where steps.contains(index) {
        openSteps[index] = nil
        step.end(at: time, .abandoned)
      }
      for node in openRuns where node.depth > depth && steps.contains(node.steps.lowerBound) {
        node.end(at: time, .abandoned)
      }
      openRuns.removeAll { $0.depth > depth && $0.end != nil }
      note("abandoned", at: time, on: parent(of: steps))
    case .recovered: note("recovered", at: time, on: parent(of: index..<index + 1))
    }
  }

  private mutating func startRun(
    _ steps: Range<Int>,
    _ name: String?,
    _ nesting: RunLog.Nesting,
    at time: Duration
  ) {
    guard nesting != .none else { return }
    let name = name ?? run.name(of: steps)
    let node = Node(.run, name, steps, role: "\(nesting)", start: time)
    let parent = parent(of: steps)
    node.order = eventCount
    node.depth = parent.depth + 1
    if node.depth >= Self.maxDepth { node.shallower = parent.holder }
    parent.holder.children.append(node)
    openRuns.append(node)
  }

  /// Returns the run that ends; the root stays open for what its own end may still bring.
  private mutating func endRun(_ steps: Range<Int>) -> Node? {
    guard let index = openRuns.lastIndex(where: { $0.steps == steps }) else { return nil }
    return index == 0 ? root : openRuns.remove(at: index)
  }

  /// The innermost run that contains steps.
  private func parent(of steps: Range<Int>) -> Node {
    openRuns.last { $0.steps.lowerBound <= steps.lowerBound && steps.upperBound <= $0.steps.upperBound } ?? root
  }

  private func isLatest(_ step: Node) -> Bool { attempts[step.steps.lowerBound] === step }

  private func note(_ text: String, at time: Duration, on node: Node) {
    node.notes.append(RunTrace.Note(time: time, text: text, order: eventCount))
  }

  private func text(_ failure: RunLog.Failure, _ known: (any Error)? = nil) -> String {
    switch failure {
    case .error(let error): "\(error)"
    case .type(let type):
      if let known, Swift.type(of: known) == type { "\(known)" } else { "\(type)" }
    }
  }
}

extension RunReading {
  /// The name of the first and the last of some steps.
  fileprivate func name(of steps: Range<Int>) -> String {
    let (first, last) = (step(steps.lowerBound), step(max(steps.lowerBound, steps.upperBound - 1)))
    return first == last ? first.description : "\(first) → \(last)"
  }
}
