// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

extension RunTrace {
  init(of readings: [RunReading], droppedRunCount: Int) {
    var owners: [UInt64: TraceNode] = [:]
    let all = readings.map { TraceNode.tree(of: $0, &owners) }
    var roots: [TraceNode] = []
    for root in all {
      guard let id = root.run.parentID, let owner = owners[id], owner !== root else {
        roots.append(root)
        continue
      }
      // The step of the outer run that was running, or a handler of that run.
      let start = root.start
      let step = owner.holder.children.last { $0.isStep && $0.start <= start && start <= $0.end ?? start }
      (step ?? owner.holder).children.append(root)
    }
    let now = readings.map(\.now).max() ?? .zero
    let origin = roots.map(\.start).min() ?? .zero
    runs = roots.sorted { $0.start < $1.start }.map { Span($0, since: origin, until: now) }
    droppedEventCount = readings.reduce(0) { $0 + $1.droppedCount }
    self.droppedRunCount = droppedRunCount
  }
}

extension RunTrace {
  /// Creates a trace of what was recorded elsewhere.
  package init(runs: [Span]) {
    (self.runs, droppedEventCount, droppedRunCount) = (runs, 0, 0)
  }
}

extension RunTrace.Span {
  /// Creates the span of a run, or of a step of one, that was recorded elsewhere.
  package init(
    _ kind: RunTrace.Kind,
    _ name: String,
    start: Duration,
    duration: Duration,
    attempt: Int = 1,
    status: RunTrace.Status,
    detail: String? = nil,
    isUndone: Bool = false,
    children: [RunTrace.Span] = []
  ) {
    (self.kind, self.name, self.start, self.duration, self.attempt) = (kind, name, start, duration, attempt)
    (self.status, self.detail, self.isUndone, self.children) = (status, detail, isUndone, children)
    (role, notes, order) = (nil, [], 0)
  }

  fileprivate init(_ node: TraceNode, since origin: Duration, until now: Duration) {
    let (run, entry) = (node.run, node.entry)
    switch entry?.kind {
    case .step(let index, let inner): (name, role) = (inner ?? run.step(index).description, nil)
    case .run(let name, let nesting, let steps, _):
      (self.name, role) = (name ?? run.name(of: steps), nesting == .none ? nil : "\(nesting)")
    default: (name, role) = (run.name ?? run.name(of: run.steps), nil)
    }
    kind = node.isStep ? .step : .run
    start = node.start - origin
    duration = (node.end ?? max(now, node.start)) - node.start
    attempt = entry?.attempt ?? 1
    status = entry?.status(until: node.runEnd) ?? .running
    detail = entry?.detail
    // A run that a step started follows the events of that run.
    order = node.isRoot ? .max : entry?.number ?? .max
    isUndone = if node.isStep, case .undone(nil) = entry?.state { true } else { false }
    notes = node.notes.map { RunTrace.Note(time: $0.time - origin, text: $0.text, order: $0.order) }
    // Sorting is stable, so that what starts at the same time stays in order.
    children = node.children.sorted { $0.start < $1.start }.map { RunTrace.Span($0, since: origin, until: now) }
  }
}

/// A span that may not have ended.
private final class TraceNode {
  /// What is nested more deeply is shown as siblings, because a tree of thousands of levels exhausts the stack, and its
  /// text grows with the square of the depth.
  private static let maxDepth = 32

  let run: RunReading
  /// Nil for a run whose own entry was dropped.
  let entry: RunRecord.Entry?
  /// When the run had ended; what has not ended then was abandoned.
  let runEnd: Duration?
  private let depth: Int
  /// The innermost span around it that may have children, if it is nested too deeply to have any.
  private unowned let shallower: TraceNode?
  /// Where its steps and runs are shown.
  var holder: TraceNode { shallower ?? self }
  var notes: [RunTrace.Note] = []
  var children: [TraceNode] = []

  private init(_ run: RunReading, _ entry: RunRecord.Entry?, runEnd: Duration?, in parent: TraceNode? = nil) {
    self.run = run
    self.entry = entry
    self.runEnd = runEnd
    depth = parent.map { $0.depth + 1 } ?? 0
    shallower = depth < Self.maxDepth ? nil : parent?.holder
    parent?.holder.children.append(self)
  }

  /// Returns the tree of a run, and adds the runs in it to those known by their numbers.
  static func tree(of run: RunReading, _ runs: inout [UInt64: TraceNode]) -> TraceNode {
    let first = run.entries.first.flatMap { $0.number == 0 ? $0 : nil }
    let root = TraceNode(run, first, runEnd: first?.ended)
    var nodes: [Int: TraceNode] = [:]
    for entry in run.entries {
      // The span that contains the entry; the whole run, where that was dropped.
      let parent = nodes[entry.parent] ?? root
      if let note = entry.note {
        parent.notes.append(RunTrace.Note(time: entry.begun, text: note, order: entry.number))
        continue
      }
      let node = entry.number == 0 ? root : TraceNode(run, entry, runEnd: root.runEnd, in: parent)
      if case .run(_, _, _, let id?) = entry.kind { runs[id] = runs[id] ?? node }
      nodes[entry.number] = node
    }
    return root
  }

  var isRoot: Bool { depth == 0 }
  var isStep: Bool { if case .step = entry?.kind { true } else { false } }
  var start: Duration { isRoot ? run.start : entry?.begun ?? run.start }
  var end: Duration? { entry?.ended ?? runEnd }
}

extension RunRecord.Entry {
  fileprivate func status(until end: Duration?) -> RunTrace.Status {
    switch state {
    case .running, .progress, .stage: end == nil ? .running : .abandoned
    case .succeeded, .replayed, .undone: .succeeded
    case .failed: .failed
    case .cancelled, .timedOut: .cancelled
    case .abandoned: .abandoned
    }
  }

  fileprivate var detail: String? {
    switch state {
    case .failed(let failure): failure.text
    case .timedOut: "timed out"
    case .replayed: "replayed"
    case .cancelled(nil, nil): nil
    case .cancelled(let source, let reason): [source, reason].compactMap { $0 }.joined(separator: ": ")
    default: nil
    }
  }

  /// What happened to the step or run above; nil for a step or a run.
  fileprivate var note: String? {
    switch kind {
    case .run, .step: nil
    case .attemptFailed(let attempt, let failure): "attempt \(attempt) failed: \(failure.text)"
    case .timedOut: "timed out"
    case .abandoned: "abandoned"
    case .recovered: "recovered"
    case .undone(let step, nil): "undid \(step)"
    case .undone(let step, let failure?): "undo of \(step) failed: \(failure.text)"
    }
  }
}

extension RunRecord.Failure {
  fileprivate var text: String {
    switch self {
    case .error(let error): "\(error)"
    case .type(let type): "\(type)"
    }
  }
}

extension RunReading {
  fileprivate func name(of steps: Range<Int>) -> String {
    let (first, last) = (step(steps.lowerBound), step(max(steps.lowerBound, steps.upperBound - 1)))
    return first == last ? first.description : "\(first) → \(last)"
  }
}
