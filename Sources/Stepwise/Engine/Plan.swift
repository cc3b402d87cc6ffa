// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A type-erased step, which takes its input from the frame and stores its output there.
@usableFromInline
package typealias StepCode = @Sendable (inout Frame) async throws -> Void

/// Returns what undoes a step, from the slot that holds its output.
package typealias StepUndo =
  @Sendable (borrowing ValueSlot) -> (@Sendable () async throws -> Void)

package typealias ErrorHandler = @Sendable (any Error, ChainStep) async -> Void
package typealias FinallyHandler = @Sendable (ChainState) async -> Void

/// One part of a chain, and a link to the part before it.
///
/// Chains share the parts that they have in common. The link has this class as its type instead of a protocol or a
/// generic parameter, so that the compiler can release a path of a million nodes in a loop.
@usableFromInline
package final class Node: Sendable {
  package enum Part: Sendable {
    case step(name: String?, output: any Sendable.Type, undo: StepUndo?, StepCode)
    /// Chains that run as one step.
    case chains(NestedChains, how: String, StepCode)
    /// Replaces errors with a value of the type.
    case recover(any Sendable.Type, StepCode)
    /// Covers everything before it.
    case enclosing(how: String, StepCode)
    case onError(ErrorHandler)
    case finally(FinallyHandler)
    case overlap(Overlap)
  }

  let parent: Node?
  package let part: Part

  /// The parts of the path that ends here.
  package var parts: [Part] { sequence(first: self, next: \.parent).reversed().map(\.part) }

  init(_ part: Part, after parent: Node?) {
    self.parent = parent
    self.part = part
  }

  /// The number of steps, including those of nested chains.
  var stepCount: Int {
    switch part {
    case .step: 1
    case .chains(let chains, _, _): chains.cores.reduce(0) { $0 + $1.program.stepCount }
    default: 0
    }
  }

  /// The chains that run as steps of the path that ends here.
  var nestedChains: [ChainCore] {
    var chains: [ChainCore] = []
    var node: Node? = self
    while let current = node {
      if case .chains(let nested, _, _) = current.part { chains += nested.cores }
      node = current.parent
    }
    return chains
  }
}

/// Chains that run as one step; they are the only owner of their cores within a path.
package final class NestedChains: Sendable {
  // Safety: only `deinit` writes it, when no other reference to the object exists.
  nonisolated(unsafe) private(set) var cores: [ChainCore]

  /// The last parts of their paths.
  package var nodes: [Node] { cores.map(\.node) }

  init(_ cores: [ChainCore]) {
    self.cores = cores
  }

  deinit {
    // Retains the steps of a chain before it is released, so that nested chains are released in this loop instead of
    // recursively.
    var dying = exchange(&cores, with: [])
    while var core = dying.popLast() {
      if isKnownUniquelyReferenced(&core) { dying += core.node.nestedChains }
    }
  }
}

/// A chain as it is described: the path to its last part, and what it shares with the chains derived from it.
@usableFromInline
struct Path: Sendable {
  let node: Node
  let token: CancellationToken
  /// The name and the observers, if it has any.
  let identity: ChainIdentity?
  var observers: [any RunObserver] { identity?.observers ?? [] }

  /// Returns this path with one more part.
  func appending(_ part: Node.Part) -> Path {
    Path(node: Node(part, after: node), token: token, identity: identity)
  }

  /// Returns this path with another name or other observers.
  func identified(by identity: ChainIdentity) -> Path { Path(node: node, token: token, identity: identity) }
}

extension Path {
  /// Creates a path of one part.
  init(_ part: Node.Part) {
    self.init(node: Node(part, after: nil), token: CancellationToken(), identity: nil)
  }

  init(_ chains: NestedChains, how: String, _ code: @escaping StepCode) {
    self.init(.chains(chains, how: how, code))
  }
}

/// A chain prepared for running: the path of its nodes as one array.
final class Program: Sendable {
  struct Operation: Sendable {
    enum Kind {
      case step, chains, recover, enclosing
    }

    let kind: Kind
    let code: StepCode
    let node: Node
    /// The number of steps before it, including those of nested chains.
    let firstStep: Int
    /// What undoes the step; nil for a step that is not undone, and for other operations.
    var undo: StepUndo?

    /// The type of what it leaves in the slot; of no use for nested chains and for what encloses steps.
    var output: any Sendable.Type {
      switch node.part {
      case .step(_, let output, _, _), .recover(let output, _): output
      default: Void.self
      }
    }

    /// The name that a journal knows the operation by.
    var storedName: String {
      if case .step(let name, _, _, _) = node.part { return ChainStep(index: firstStep, name: name).description }
      return "recover"
    }
  }

  let operations: [Operation]
  /// The positions of the operations that cover everything before them.
  let enclosings: [Int]
  let stepCount: Int
  private let madeSummary = Lock<ChainSummary?>(nil)
  let errorHandlers: [ErrorHandler]
  let finallyHandlers: [FinallyHandler]
  let overlap: Overlap
  /// The token, which the chain shares with those derived from it.
  let token: CancellationToken
  /// The name and the observers, if it has any.
  let identity: ChainIdentity?

  init(_ path: Path) {
    token = path.token
    identity = path.identity
    // Last one first, since a node knows only the one before it.
    let nodes = sequence(first: path.node, next: \.parent)
    let (count, stepCount) = nodes.reduce((0, 0)) { ($0.0 + 1, $0.1 + $1.stepCount) }
    var firstStep = stepCount
    var operations: [Operation] = []
    operations.reserveCapacity(count)
    var errorHandlers: [ErrorHandler] = []
    var finallyHandlers: [FinallyHandler] = []
    var overlap: Overlap?
    for node in nodes {
      firstStep -= node.stepCount
      func add(_ kind: Operation.Kind, _ code: @escaping StepCode, undo: StepUndo? = nil) {
        operations.append(Operation(kind: kind, code: code, node: node, firstStep: firstStep, undo: undo))
      }
      switch node.part {
      case .step(_, _, let undo, let code): add(.step, code, undo: undo)
      case .chains(_, _, let code): add(.chains, code)
      case .recover(_, let code): add(.recover, code)
      case .enclosing(_, let code): add(.enclosing, code)
      case .onError(let handler): errorHandlers.append(handler)
      case .finally(let handler): finallyHandlers.append(handler)
      case .overlap(let policy): overlap = overlap ?? policy
      }
    }
    operations.reverse()
    self.operations = operations
    enclosings = operations.indices.filter { operations[$0].kind == .enclosing }
    self.stepCount = stepCount
    self.errorHandlers = errorHandlers.reversed()
    self.finallyHandlers = finallyHandlers
    self.overlap = overlap ?? .concurrent
  }

  var observers: [any RunObserver] { identity?.observers ?? [] }

  func name(at index: Int) -> String? { summary.names[index] }

  /// What records and errors need of the chain; made for the first of them.
  ///
  /// Retaining it does not retain the steps.
  var summary: ChainSummary {
    if let summary = madeSummary.withLock({ $0 }) { return summary }
    var names: [Int: String] = [:]
    var pending = [(program: self, firstStep: 0)]
    while let (program, first) = pending.popLast() {
      for operation in program.operations {
        var step = first + operation.firstStep
        switch operation.node.part {
        case .step(let name?, _, _, _): names[step] = name
        case .chains(let chains, _, _):
          for program in chains.cores.map(\.program) {
            pending.append((program, step))
            step += program.stepCount
          }
        default: break
        }
      }
    }
    let summary = ChainSummary(identity, stepCount: stepCount, names: names)
    madeSummary.withLock { $0 = summary }
    return summary
  }
}

/// Decides what a further run of a chain does while one is in flight, for example for a search field.
///
/// You pass it to ``Chain/overlap(_:)``: `cancelPrevious` suits a search field, `dropNew` a button that your user taps
/// twice. A refused or replaced run ends as cancelled, with the policy's name as the reason.
///
/// ```swift
/// let search = Chain("wait") { (text: String) in
///   try await clock.sleep(for: .milliseconds(300))
///   return text
/// }
/// .then("search") { text in try await find(text) }
/// .overlap(.cancelPrevious)
/// ```
public struct Overlap: Sendable {
  /// The reason for a run that the policy refused, replaced or cancelled.
  package let name: String
  /// How a run enters the gate; nil when there is no gate.
  let mode: GateMode?

  /// The run starts immediately, concurrently with the others.
  public static let concurrent = Overlap(name: "concurrent", mode: nil)

  /// The run waits; runs start in the order of the calls.
  public static let serial = Overlap(name: "serial", mode: .queue)

  /// The run cancels the one in flight and the one waiting.
  ///
  /// It starts when the former has completed, including `finally`.
  public static let cancelPrevious = Overlap(name: "cancelPrevious", mode: .replaceAll)

  /// The run is refused.
  public static let dropNew = Overlap(name: "dropNew", mode: .refuse)

  /// Waits; replaces the run that is already waiting.
  public static let keepLatest = Overlap(name: "keepLatest", mode: .replaceWaiting)
}
