// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

// MARK: - Chains

extension Chain {
  /// Returns a diagram of the chain: its steps, the modifiers that cover them, its handlers, and nested chains.
  ///
  /// A modifier is drawn around the steps that it covers, the overlap policy around all of them. A box named *try*
  /// surrounds the steps whose errors `recover` or `onError` receives. A step that can be undone is marked, and its
  /// undo is drawn dashed; undos run newest first. A modifier of a `Step` is part of the step and is not drawn.
  ///
  /// - Parameter format: The format of the diagram.
  /// - Returns: The diagram, in lines that end with a line break.
  public nonisolated func describe(_ format: DiagramFormat = .text) -> String {
    var walk = ChainWalk()
    walk.follow(kinds)
    return format.text(of: walk.diagram)
  }
}

/// Draws a chain and those nested in it, in a loop, because they may be nested to any depth.
private struct ChainWalk {
  private typealias Action = (inout ChainWalk) -> Void

  private(set) var diagram = Diagram(isSequence: true)
  private var pending: [Action] = []
  /// The nodes at which the next edges start.
  private var tails: [Int] = []
  private var forks: [(start: [Int], ends: [Int])] = []
  private var stepCount = 0

  mutating func follow(_ kinds: [Node.Kind]) {
    pending = [Self.follow(kinds)]
    while let action = pending.popLast() { action(&self) }
  }

  /// Returns an action that puts those for the kinds of a chain in its place.
  private static func follow(_ kinds: [Node.Kind]) -> Action { { $0.pending += actions(for: kinds).reversed() } }

  private static func open(_ label: String) -> Action { { $0.diagram.open(label) } }
  private static func close(_ walk: inout ChainWalk) { walk.diagram.close() }

  private static func actions(for kinds: [Node.Kind]) -> [Action] {
    var opening: [Action] = []
    var body: [Action] = []
    var (onError, finally, overlap, isCoalesced) = (0, 0, String?.none, false)
    for kind in kinds {
      switch kind {
      case .step(let name, _, let undo, _): body.append { $0.addStep(name, isUndoable: undo != nil) }
      case .chains(let chains, let how, _): body += actions(for: chains.nodes.map(\.kinds), how: how)
      case .recover:
        opening.append(open("try"))
        body.append { $0.tails.append($0.catching("recover")) }
      case .covering(let how, _):
        opening.append(open(how))
        body.append(close)
      case .onError: onError += 1
      case .finally: finally += 1
      case .overlap(let policy): overlap = policy.name
      case .coalesced: isCoalesced = true
      }
    }
    if onError > 0 { opening.append(open("try")) }
    body.append { [onError, finally] in $0.addHandlers(onError: onError, finally: finally) }
    if let overlap, overlap != Overlap.concurrent.name {
      opening.append(open("overlap: \(overlap)"))
      body.append(close)
    }
    if isCoalesced {
      opening.append(open("coalesced"))
      body.append(close)
    }
    // What covers all steps before it opens at the start, outermost first.
    return opening.reversed() + body
  }

  private static func actions(for chains: [[Node.Kind]], how: String) -> [Action] {
    if how == "then" {
      // A chain that is nothing but branches needs no box of its own.
      return chains.flatMap { isBranches($0) ? [follow($0)] : [open("chain"), follow($0), close] }
    }
    let branches = chains.enumerated().flatMap { index, chain in
      [open("branch \(index + 1)"), follow(chain), close, { $0.endBranch() }]
    }
    return [open(how), { $0.forks.append(($0.tails, [])) }] + branches + [
      { $0.tails = $0.forks.removeLast().ends }, close,
    ]
  }

  private mutating func endBranch() {
    let last = forks.count - 1
    forks[last].ends += tails
    tails = forks[last].start
  }

  /// Returns whether a chain consists of nothing but the branches of `zip` or `race`.
  private static func isBranches(_ kinds: [Node.Kind]) -> Bool {
    if kinds.count == 1, case .chains = kinds[0] { true } else { false }
  }

  private mutating func addStep(_ name: String?, isUndoable: Bool) {
    let name = name ?? "step \(stepCount)"
    stepCount += 1
    let step = diagram.add(isUndoable ? "\(name), with undo" : name, after: tails)
    tails = [step]
    guard isUndoable else { return }
    diagram.add(Diagram.Edge(from: step, to: diagram.add("undo \(name)", .undo), isDashed: true))
  }

  /// Closes the steps that an error may come from, and adds the node that receives it.
  private mutating func catching(_ label: String) -> Int {
    let steps = diagram.close()
    let handler = diagram.add(label, .handler)
    diagram.connect(steps, to: handler, "error")
    return handler
  }

  private mutating func addHandlers(onError: Int, finally: Int) {
    let failed = onError > 0 ? [catching("on error: \(onError.handlers)")] : []
    guard finally > 0 else { return }
    tails = [diagram.add("finally: \(finally.handlers)", .handler, after: tails + failed)]
  }
}

extension Int {
  /// The number of handlers, as labels say it.
  fileprivate var handlers: String { self == 1 ? "1 handler" : "\(self) handlers" }
}

// MARK: - Jobs

extension Job {
  /// Returns a diagram of the job: the queue, the work, the limits around them, and the handlers.
  ///
  /// - Parameter format: The format of the diagram.
  /// - Returns: The diagram, in lines that end with a line break.
  public func describe(_ format: DiagramFormat = .text) -> String {
    format.text(of: Diagram(name, settings, settings.handlers))
  }
}

extension Diagram {
  /// Creates the diagram of a job.
  fileprivate init(_ name: String, _ job: JobSettings, _ handlers: JobHandlers) {
    self.init(isSequence: true)
    var limits: [Cluster] = []
    let start = handlers.onStart.isEmpty ? [] : [add("on start: \(handlers.onStart.count.handlers)", .handler)]
    if let limit = job.deadline?.duration { open("deadline \(limit)") }
    let turn = add("wait in the queue\(job.priority.map { ", priority \($0.word)" } ?? "")", after: start)
    if let limit = job.timeout?.duration { open("timeout \(limit)") }
    let work = add(name, after: [turn])
    if job.timeout != nil { limits.append(close()) }
    if job.deadline != nil { limits.append(close()) }

    var ends = [work]
    if !handlers.onUpdate.isEmpty {
      let handler = add("on update: \(handlers.onUpdate.count.handlers)", .handler)
      add(Edge(from: work, to: handler, label: "update", isDashed: true))
    }
    if !handlers.onTimeout.isEmpty {
      let handler = add("on timeout: \(handlers.onTimeout.count.handlers)", .handler)
      for limit in limits { connect(limit, to: handler, "timeout") }
      ends.append(handler)
    }
    if !handlers.onError.isEmpty {
      let handler = add("on error: \(handlers.onError.count.handlers)", .handler)
      add(Edge(from: work, to: handler, label: "error", isDashed: true))
      ends.append(handler)
    }
    if !handlers.onFinish.isEmpty { _ = add("on finish: \(handlers.onFinish.count.handlers)", .handler, after: ends) }
  }
}

extension TaskPriority {
  /// The name of the priority in a diagram.
  fileprivate var word: String {
    switch self {
    case .high: "high"
    case .medium: "medium"
    case .low: "low"
    case .background: "background"
    default: "\(rawValue)"
    }
  }
}

// MARK: - Progressions

extension Progression {
  /// Returns a diagram of stages, in the order in which a run reaches them.
  ///
  /// Pass the stages to draw: those that a run has reached, or samples in that order. Stages of one case of an enum are
  /// one node. An edge leads from each stage to the next one in the sequence, except from a stage that has a result,
  /// after which another path may follow.
  ///
  /// - Parameters:
  ///   - format: The format of the diagram.
  ///   - stages: The stages.
  /// - Returns: The diagram, in lines that end with a line break.
  public static func describe(_ format: DiagramFormat = .text, stages: some Sequence<Self>) -> String {
    var diagram = Diagram(isSequence: false)
    var nodes: [String: Int] = [:]
    var edges: Set<Diagram.Edge> = []
    var previous: Int?
    for stage in stages {
      let name = stage.stageName
      let isLast = stage.result != nil
      let node = nodes[name] ?? diagram.add(name, isLast ? .last : .step)
      nodes[name] = node
      if let previous {
        let edge = Diagram.Edge(from: previous, to: node)
        if edges.insert(edge).inserted { diagram.add(edge) }
      }
      previous = isLast ? nil : node
    }
    return format.text(of: diagram)
  }

  /// The name of the stage in a diagram: the case of an enum, or else the type.
  package var stageName: String {
    let mirror = Mirror(reflecting: self)
    guard mirror.displayStyle == .enum else { return "\(Self.self)" }
    return mirror.children.first?.label ?? "\(self)"
  }
}

extension Progression where Self: CaseIterable {
  /// Returns a diagram of all cases, in the order of `allCases`, which should be the order in which a run reaches them.
  ///
  /// - Parameter format: The format of the diagram.
  /// - Returns: The diagram, in lines that end with a line break.
  public static func describe(_ format: DiagramFormat = .text) -> String { describe(format, stages: allCases) }
}
