// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension RunTrace {
  init(of traced: [TracedRun], droppedRunCount: Int) {
    let builders = traced.map(TraceBuilder.init)
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
      let step = owner.children.last { $0.kind == .step && $0.start <= start && start <= $0.end ?? start }
      (step ?? owner).children.append(builder.root)
    }
    let now = traced.map(\.now).max() ?? .zero
    let origin = roots.map(\.start).min() ?? .zero
    runs = roots.sorted { $0.start < $1.start }.map { Span($0, since: origin, until: now) }
    droppedEventCount = traced.reduce(0) { $0 + $1.droppedCount }
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
