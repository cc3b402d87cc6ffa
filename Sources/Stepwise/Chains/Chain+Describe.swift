// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Returns a diagram of the chain: its steps, the modifiers that cover them, its handlers, and nested chains.
  ///
  /// A modifier is drawn around the steps that it covers, the overlap policy around all of them. A box named *try*
  /// surrounds the steps whose errors `recover` or `onError` receives. A step that can be undone is marked, and its
  /// undo is drawn dashed; undos run newest first. A modifier of a ``Step`` is part of the step and is not drawn.
  ///
  /// - Parameter format: The format of the diagram.
  /// - Returns: The diagram, in lines that end with a line break.
  public nonisolated func describe(_ format: DiagramFormat = .text) -> String {
    var walk = ChainWalk()
    walk.follow(core)
    return format.text(of: walk.diagram)
  }
}

/// Draws a chain and those nested in it, in a loop, because they may be nested to any depth.
private struct ChainWalk {
  private enum Event {
    case chain(ChainCore)
    case step(name: String?, isUndoable: Bool)
    case open(String)
    case close
    case recover
    case handlers(onError: Int, finally: Int)
    case fork
    case nextBranch
    case join
  }

  private(set) var diagram = Diagram(isSequence: true)
  /// The nodes at which the next edges start.
  private var tails: [Int] = []
  private var forks: [(start: [Int], ends: [Int])] = []
  private var stepCount = 0

  mutating func follow(_ core: ChainCore) {
    var pending: [Event] = [.chain(core)]
    while let event = pending.popLast() {
      switch event {
      case .chain(let core): pending += Self.events(of: core).reversed()
      case .step(let name, let isUndoable): addStep(name, isUndoable: isUndoable)
      case .open(let label): diagram.open(label)
      case .close: diagram.close()
      case .recover: tails.append(catching("recover"))
      case .handlers(let onError, let finally): addHandlers(onError: onError, finally: finally)
      case .fork: forks.append((tails, []))
      case .nextBranch:
        let last = forks.count - 1
        forks[last].ends += tails
        tails = forks[last].start
      case .join: if let fork = forks.popLast() { tails = fork.ends }
      }
    }
  }

  private static func events(of core: ChainCore) -> [Event] {
    var opening: [Event] = []
    var body: [Event] = []
    var (onError, finally, overlap) = (0, 0, Overlap.concurrent)
    for part in core.node.parts {
      switch part {
      case .step(let name, let isUndoable, _): body.append(.step(name: name, isUndoable: isUndoable))
      case .chains(let chains, let how, _): body += events(of: chains.cores, how: how)
      case .recover:
        opening.append(.open("try"))
        body.append(.recover)
      case .enclosing(let how, _), .limit(let how, _):
        opening.append(.open(how))
        body.append(.close)
      case .onError: onError += 1
      case .finally: finally += 1
      case .overlap(let policy): overlap = policy
      }
    }
    if onError > 0 { opening.append(.open("try")) }
    body.append(.handlers(onError: onError, finally: finally))
    if overlap != .concurrent {
      opening.append(.open("overlap: \(overlap)"))
      body.append(.close)
    }
    // What covers all steps before it opens at the start, outermost first.
    return opening.reversed() + body
  }

  private static func events(of chains: [ChainCore], how: String) -> [Event] {
    if how == "then" {
      // A chain that is nothing but branches needs no box of its own.
      return chains.flatMap { $0.node.isBranches ? [.chain($0)] : [.open("chain"), .chain($0), .close] }
    }
    let branches = chains.enumerated().flatMap { index, chain -> [Event] in
      [.open("branch \(index + 1)"), .chain(chain), .close, .nextBranch]
    }
    return [.open(how), .fork] + branches + [.join, .close]
  }

  private mutating func addStep(_ name: String?, isUndoable: Bool) {
    stepCount += 1
    let name = name ?? "step \(stepCount)"
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

extension Node {
  /// The parts of the path that ends here, first to last.
  fileprivate var parts: [Part] {
    Array(sequence(first: self, next: \.parent)).reversed().map(\.part)
  }

  /// Whether the path consists of nothing but the branches of `zip` or `race`.
  fileprivate var isBranches: Bool {
    if parent == nil, case .chains = part { true } else { false }
  }
}
