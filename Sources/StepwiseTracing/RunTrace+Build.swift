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

/// Builds the spans of a run from the entries of its record.
struct TraceBuilder {
  /// A span that may not have ended.
  final class Node {
    let kind: RunTrace.Kind
    let name: String
    let role: String?
    let attempt: Int
    /// The position among the events; a run that a step started follows them.
    let order: Int
    let start: Duration
    let end: Duration?
    var depth = 0
    /// The innermost span around it that may have children, if it is nested too deeply to have any.
    unowned var shallower: Node?
    /// Where its steps and runs are shown.
    var holder: Node { shallower ?? self }
    var status: RunTrace.Status
    var detail: String?
    var isUndone = false
    var notes: [RunTrace.Note] = []
    var children: [Node] = []

    init(
      _ kind: RunTrace.Kind,
      _ name: String,
      role: String? = nil,
      _ entry: RunRecord.Entry?,
      start: Duration,
      end: Duration?,
      _ status: RunTrace.Status
    ) {
      self.kind = kind
      self.name = name
      self.role = role
      attempt = entry?.attempt ?? 1
      order = entry?.number ?? .max
      self.start = start
      self.end = end
      self.status = status
    }
  }

  /// What is nested more deeply is shown as siblings, because a tree of thousands of levels exhausts the stack, and its
  /// text grows with the square of the depth.
  private static let maxDepth = 32

  let run: RunReading
  private(set) var root: Node
  private(set) var runs: [UInt64: Node] = [:]
  private var nodes: [Int: Node] = [:]

  init(_ run: RunReading) {
    self.run = run
    root = Node(.run, run.name ?? run.name(of: run.steps), nil, start: run.start, end: nil, .running)
    // What has not ended when the run has was abandoned.
    let end = run.entries.first.flatMap { $0.number == 0 ? $0.ended : nil }
    for entry in run.entries { add(entry, until: end) }
  }

  private mutating func add(_ entry: RunRecord.Entry, until end: Duration?) {
    switch entry.kind {
    case .run(let name, let nesting, let steps, let id):
      let isRoot = nesting == .none
      let name = name ?? run.name(of: steps)
      let node = Node(
        .run,
        name,
        role: isRoot ? nil : "\(nesting)",
        isRoot ? nil : entry,
        start: isRoot ? run.start : entry.begun,
        end: entry.ended ?? end,
        status(of: entry, until: end)
      )
      node.detail = detail(of: entry)
      if let id { runs[id] = node }
      if isRoot { root = node } else { add(node, to: parent(of: entry)) }
      nodes[entry.number] = node
    case .step(let index, let inner):
      let name = inner ?? run.step(index).description
      let node = Node(.step, name, entry, start: entry.begun, end: entry.ended ?? end, status(of: entry, until: end))
      node.detail = detail(of: entry)
      if case .undone(nil) = entry.state { node.isUndone = true }
      add(node, to: parent(of: entry))
      nodes[entry.number] = node
    case .attemptFailed(let attempt, let failure): note("attempt \(attempt) failed: \(text(failure))", entry)
    case .timedOut: note("timed out", entry)
    case .abandoned: note("abandoned", entry)
    case .recovered: note("recovered", entry)
    case .undone(let step, nil): note("undid \(step)", entry)
    case .undone(let step, let failure?): note("undo of \(step) failed: \(text(failure))", entry)
    }
  }

  private func add(_ node: Node, to parent: Node) {
    node.depth = parent.depth + 1
    if node.depth >= Self.maxDepth { node.shallower = parent.holder }
    parent.holder.children.append(node)
  }

  private func status(of entry: RunRecord.Entry, until end: Duration?) -> RunTrace.Status {
    switch entry.state {
    case .running, .progress, .stage: end == nil ? .running : .abandoned
    case .succeeded, .replayed, .undone: .succeeded
    case .failed: .failed
    case .cancelled, .timedOut: .cancelled
    case .abandoned: .abandoned
    }
  }

  private func detail(of entry: RunRecord.Entry) -> String? {
    switch entry.state {
    case .failed(let failure): text(failure)
    case .timedOut: "timed out"
    case .replayed: "replayed"
    case .cancelled(nil, nil): nil
    case .cancelled(let source, let reason): [source, reason].compactMap { $0 }.joined(separator: ": ")
    default: nil
    }
  }

  /// The span that contains an entry; the whole run, where that was dropped.
  private func parent(of entry: RunRecord.Entry) -> Node { nodes[entry.parent] ?? root }

  private func note(_ text: String, _ entry: RunRecord.Entry) {
    parent(of: entry).notes.append(RunTrace.Note(time: entry.begun, text: text, order: entry.number))
  }

  private func text(_ failure: RunRecord.Failure) -> String {
    switch failure {
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
