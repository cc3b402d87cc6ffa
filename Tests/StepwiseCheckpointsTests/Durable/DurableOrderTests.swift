// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// Random programs whose process dies at each write: a further run sees the same values and errors in the same order.
///
/// `STEPWISE_ORDER_SEEDS` sets the number of programs.
@Suite(.timeLimit(.minutes(20)))
struct DurableOrderTests {
  /// A part of the code between steps.
  indirect enum Node: Sendable {
    case step(String, undo: Bool, mayFail: Bool)
    case sequence([Node])
    /// Two child tasks whose values are both needed.
    case pair(Node, Node)
    /// Child tasks of which a number run at a time, and whose values are received as they come.
    case group([Node], width: Int)
    /// Child tasks of which the first value counts; the others are cancelled.
    case first([Node])
    /// An error is caught and ignored.
    case caught(Node)
    case loop(Int, Node)
    /// A value decides the path.
    case branch(Node, Node, Node)
    /// An actor counts.
    case actor(Node)
    /// The main actor works between steps.
    case main(Node)
    /// Branches of which the first value counts.
    case race(Node, Node)
    case limited(Node)
    case yields(Int)
    /// Child tasks that send their values to a stream.
    case stream([Node])
    /// Tenths of a millisecond, after which the code goes on without it.
    case abandoned(Int, Node)
    case zip(Node, Node)
    /// The second one follows when the first one fails.
    case recovered(Node, Node)

    var size: Int {
      switch self {
      case .step: 1
      case .sequence(let nodes), .group(let nodes, _), .first(let nodes), .stream(let nodes):
        nodes.reduce(0) { $0 + $1.size }
      case .pair(let left, let right), .race(let left, let right), .zip(let left, let right),
        .recovered(let left, let right):
        left.size + right.size
      case .caught(let node), .actor(let node), .main(let node), .limited(let node), .abandoned(_, let node): node.size
      case .loop(let count, let node): count * node.size
      case .branch(let condition, let left, let right): condition.size + max(left.size, right.size)
      case .yields: 0
      }
    }
  }

  /// Composes a program.
  struct Composer {
    var random: SeededGenerator
    private var count = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    private mutating func nodes(_ range: ClosedRange<Int>, _ depth: Int) -> [Node] {
      (0..<number(range)).map { _ in node(depth) }
    }

    private mutating func node(_ depth: Int) -> Node {
      guard depth > 0, number(0...3) > 0 else {
        count += 1
        return .step("s\(count)", undo: number(0...1) == 0, mayFail: number(0...5) == 0)
      }
      let depth = depth - 1
      switch number(0...17) {
      case 0, 1: return .sequence(nodes(2...4, depth))
      case 2: return .pair(node(depth), node(depth))
      case 3: return .group(nodes(2...5, depth), width: number(1...3))
      case 4: return .first(nodes(2...3, depth))
      case 5: return .caught(node(depth))
      case 6: return .branch(node(depth), node(depth), node(depth))
      case 7: return .actor(node(depth))
      case 8: return .sequence([.yields(number(1...3)), node(depth)])
      case 9: return .stream(nodes(2...3, depth))
      case 10: return .main(node(depth))
      case 11: return .race(node(depth), node(depth))
      case 12: return .caught(.limited(node(depth)))
      case 13, 14: return .caught(.abandoned(number(0...10), node(depth)))
      case 15: return .zip(node(depth), node(depth))
      case 16: return .recovered(node(depth), node(depth))
      default: return .caught(.group(nodes(2...4, depth), width: 4))
      }
    }

    mutating func program() -> Node {
      while true {
        let program = Node.sequence([node(3), node(3)])
        if 3...24 ~= program.size { return program }
        count = 0
      }
    }
  }

  /// What happened outside of the store.
  final class World: Sendable {
    private struct State {
      var bodies: [String: Int] = [:]
      var running = 0
      var undone: [String] = []
      var count = 0
      var random: SeededGenerator
    }

    private let state: Lock<State>

    init(seed: UInt64) { state = Lock(State(random: SeededGenerator(seed: seed))) }

    /// A body begins; returns a value that no other body has.
    func begin(_ name: String) -> (value: Int, yields: Int, fails: Bool, stopsEarly: Bool) {
      state.withLock { state in
        state.bodies[name, default: 0] += 1
        state.running += 1
        state.count += 1
        let yields = Int.random(in: 0...5, using: &state.random)
        let (fails, stopsEarly) = (Bool.random(using: &state.random), Bool.random(using: &state.random))
        return (state.count, yields, fails, stopsEarly)
      }
    }

    func end() { state.withLock { $0.running -= 1 } }
    func undo(_ name: String) { state.withLock { $0.undone.append(name) } }

    var bodies: [String: Int] { state.withLock { $0.bodies } }
    var running: Int { state.withLock { $0.running } }
    var undone: [String] { state.withLock { $0.undone } }
  }

  private actor Counter {
    private var count = 0

    func add(_ value: Int) async -> Int {
      count += 1
      await Task.yield()
      return count &* 1_000 &+ value
    }
  }

  /// One run of a program in one process.
  struct Trial: Sendable {
    let world: World
    /// What the code between steps has seen.
    let seen = Ledger()
    private let counter = Counter()
    private let ended = Once<Void>()
    let store: DyingStore

    init(_ world: World, _ store: DyingStore) { (self.world, self.store) = (world, store) }

    /// What code sees after the death of its process is seen by no one, nor what is abandoned by code that has ended.
    private func note(_ line: String) { if !store.hasDied, ended.settled == nil { seen.add(line) } }

    func order(_ program: Node) async throws -> Int {
      defer { ended.settle(()) }
      return try await run(program)
    }

    private func call(_ name: String, undo: Bool, mayFail: Bool) async throws -> Int {
      let body = { @Sendable [world] in
        let (value, yields, fails, stopsEarly) = world.begin(name)
        defer { world.end() }
        for _ in 0..<yields { await Task.yield() }
        if stopsEarly { try Task.checkCancellation() }
        if mayFail, fails { throw Declined(card: "\(value)") }
        return value
      }
      do {
        let value =
          undo ? try await step(name, body) { [world] in world.undo(name) } : try await step(name, body)
        note("\(name) = \(value)")
        return value
      } catch {
        note("\(name) threw \(error)")
        throw error
      }
    }

    @MainActor private func work() async { await Task.yield() }

    private func chain(_ name: String, _ node: Node) -> Chain<Int, Int> {
      Chain(name) { (_: Int) in try await run(node) }
    }

    func run(_ node: Node) async throws -> Int {
      switch node {
      case .step(let name, let undo, let mayFail): return try await call(name, undo: undo, mayFail: mayFail)
      case .sequence(let nodes):
        var sum = 0
        for node in nodes { sum &+= try await run(node) }
        return sum
      case .pair(let left, let right):
        async let first = run(left)
        async let second = run(right)
        return try await first &* 3 &+ second
      case .group(let nodes, let width):
        return try await withThrowingTaskGroup(of: Int.self) { group in
          var rest = nodes[...]
          for _ in 0..<width { if let node = rest.popFirst() { group.addTask { try await run(node) } } }
          var sum = 0
          while let value = try await group.next() {
            note("next \(value)")
            sum = sum &* 31 &+ value
            if let node = rest.popFirst() { group.addTask { try await run(node) } }
          }
          return sum
        }
      case .first(let nodes):
        return try await withThrowingTaskGroup(of: Int.self) { group in
          for node in nodes { group.addTask { try await run(node) } }
          let value = try await group.next() ?? 0
          group.cancelAll()
          note("first \(value)")
          return value
        }
      case .caught(let node):
        do {
          return try await run(node)
        } catch {
          note("caught \(error)")
          return 1
        }
      case .loop(let count, let node):
        var sum = 0
        for _ in 0..<count { sum &+= try await run(node) }
        return sum
      case .branch(let condition, let left, let right):
        return try await run(condition) % 2 == 0 ? run(left) : run(right)
      case .actor(let node):
        let value = await counter.add(try await run(node))
        note("counted \(value)")
        return value
      case .main(let node):
        let value = try await run(node)
        await work()
        note("main")
        return try await run(.actor(.yields(1))) &+ value
      case .race(let left, let right): return try await Chain.race(chain("l", left), chain("r", right)).run(1)
      case .limited(let node):
        return try await steps("limited", timeout: .milliseconds(1)) { try await run(node) }
      case .abandoned(let time, let node):
        return try await chain("a", node).abandon(after: .microseconds(time * 100)).run(1)
      case .zip(let left, let right):
        let (first, second) = try await Chain.zip(chain("l", left), chain("r", right)).run(1)
        return first &* 5 &+ second
      case .recovered(let left, let right):
        return try await chain("c", left).recover { _ in try await run(right) }.run(1)
      case .yields(let count):
        for _ in 0..<count { await Task.yield() }
        return 0
      case .stream(let nodes):
        let (stream, sink) = AsyncStream.makeStream(of: Int.self)
        return await withTaskGroup { group in
          for node in nodes { group.addTask { sink.yield((try? await run(node)) ?? -1) } }
          var (sum, count) = (0, 0)
          for await value in stream {
            note("received \(value)")
            sum = sum &* 7 &+ value
            count += 1
            if count == nodes.count { break }
          }
          return sum
        }
      }
    }
  }

  /// Runs a program whose process dies after each write, and returns what is wrong.
  private func fault(of seed: UInt64) async throws -> String? {
    var composer = Composer(seed: seed)
    let program = composer.program()
    let (world, base) = (World(seed: seed), MemoryCheckpointStore())
    var (before, stored) = ([String](), [String: Int]())
    for process in 1...200 {
      let trial = Trial(world, DyingStore(base, at: 2, isLate: true))
      let chain = Chain("order") { (_: Int) in try await trial.order(program) }
      let bodies = world.bodies
      let result = await Result.of { try await chain.run(1, id: "x", in: trial.store) }
      if let error = result.failure as? CheckpointError { return "process \(process): \(error)" }
      // What was seen is seen again, in the same order.
      let seen = trial.seen.lines
      guard seen.starts(with: before) || before.starts(with: seen) else {
        let events = try await base.load("x").map { try DurableRecord($0, of: "order", at: "memory").events } ?? []
        return "process \(process) saw\n\(seen)\nafter\n\(before)\nstored\n\(events)\n\(program)"
      }
      // A body whose end was stored runs no more.
      for (name, count) in stored where world.bodies[name, default: 0] > count {
        return "process \(process) ran \(name) again; before: \(bodies)"
      }
      guard let record = try await base.load("x") else { return "nothing is stored" }
      let log = try DurableRecord(record, of: "order", at: "memory").log
      for (key, end) in log.records where end.end.isSuccess {
        let name = String(key.split(separator: "/").last ?? "")
        stored[name] = stored[name] ?? world.bodies[name, default: 0]
      }
      // A failure is returned before it is stored; what follows is stored after it. So is a return from the main actor,
      // after which the process may have died.
      let ended = Set(log.records.keys.map { String($0.split(separator: "/").last ?? "") })
      var known = seen.prefix { line in !line.hasPrefix("s") || ended.contains(String(line.prefix { $0 != " " })) }
      while let last = known.last, !last.hasPrefix("s") { known.removeLast() }
      if known.count > before.count { before = Array(known) }
      guard log.isEnded else { continue }
      // What is abandoned may run and be undone after its run.
      if "\(program)".contains("abandoned") { return nil }
      if world.running > 0 { return "\(world.running) bodies are running" }
      let isResolved = if case .concluded(.resolved) = log.phase { true } else { false }
      let undoable = log.records.filter { $0.value.end.isSuccess && $0.value.isUndoable }
      // What a branch has completed that has lost is undone, and what a chain has that has run between steps is not.
      let completed = undoable.filter { isResolved ? !$0.value.isUndone : !$0.key.contains("/chain") }.keys.map {
        String($0.split(separator: "/").last ?? "")
      }
      // A step in doubt that was interrupted is repeated and undone, too.
      let undone = Set(world.undone)
      if isResolved ? !undone.isDisjoint(with: completed) : !undone.isSuperset(of: completed) {
        return "resolved: \(isResolved), undone: \(world.undone), completed: \(completed), \(program)"
      }
      return nil
    }
    return "it does not end"
  }

  // G182, G197
  @Test func `Unchanged code takes the same path in each process, and waits for no timer`() async throws {
    let count = UInt64(ProcessInfo.processInfo.environment["STEPWISE_ORDER_SEEDS"] ?? "") ?? 150
    let first = UInt64(ProcessInfo.processInfo.environment["STEPWISE_ORDER_FIRST"] ?? "") ?? 1
    let uses = Ledger()
    // No busy machine takes so long.
    let patience = DurableRun.Patience(duration: .seconds(60)) { uses.add("waited") }
    try await DurableRun.Patience.$current.withValue(patience) {
      for seed in first..<(first + count) {
        let fault = try await fault(of: seed)
        #expect(fault == nil, "seed \(seed)")
        if fault != nil { return }
      }
    }
    #expect(uses.lines.isEmpty)
  }

  /// What a deployment changes around or at the steps of a run in progress.
  enum Change: CaseIterable {
    case limitAdded, limitRemoved, retryAdded, abandonAdded, scopeRenamed, stepRenamed, stepInProgressRenamed,
      chainPrepended

    /// Returns the code that has run until the third step, and the changed code.
    func chains(_ ledger: Ledger) -> (old: Chain<Int, Int>, new: Chain<Int, Int>) {
      func chain(_ names: [String], in scope: String? = nil) -> Chain<Int, Int> {
        Chain("order") { (input: Int) in
          let work = { @Sendable in
            for name in names {
              try await step(name) {
                ledger.add(name)
              } undo: {
                ledger.add("undo \(name)")
              }
            }
          }
          if let scope { try await steps(scope) { try await work() } } else { try await work() }
          return input
        }
      }
      let names = ["a", "b", "c"]
      let plain = chain(names)
      switch self {
      case .limitAdded: return (plain, plain.timeout(.seconds(3_600)))
      case .limitRemoved: return (plain.timeout(.seconds(3_600)), plain)
      case .retryAdded: return (plain, plain.retry(RetryPolicy(maxAttempts: 2, backoff: .none)))
      case .abandonAdded: return (plain, plain.abandon(after: .seconds(3_600)))
      case .scopeRenamed: return (chain(names, in: "book"), chain(names, in: "reserve"))
      case .stepRenamed: return (plain, chain(["a", "other", "c"]))
      case .stepInProgressRenamed: return (plain, chain(["a", "b", "other"]))
      case .chainPrepended:
        let first = Chain("order") { (input: Int) in
          try await step("before") { ledger.add("before") }
          return input
        }
        return (plain, first.appending(plain))
      }
    }
  }

  // G183, G194
  @Test(arguments: Change.allCases)
  func `Changed code is found at its first step and before any body, and the old code can be resumed`(
    change: Change
  ) async throws {
    let (ledger, base, uses) = (Ledger(), MemoryCheckpointStore(), Ledger())
    let (old, new) = change.chains(ledger)
    let store = DyingStore(base)
    _ = try? await old.run(
      1,
      id: "x",
      in: TappedStore(base: base) { _, write in
        if ledger.count("c") > 0 { store.die() }
        try await store.write(nil, of: "x", write)
      }
    )
    let before = ledger.lines
    #expect(before == ["a", "b", "c"])
    // No timer is waited for.
    let patience = DurableRun.Patience(duration: .seconds(60)) { uses.add("waited") }
    await DurableRun.Patience.$current.withValue(patience) {
      let error = await #expect(throws: CheckpointError.self) { try await new.resume(id: "x", in: base) }
      guard case .differentSteps = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(ledger.lines == before)
    }
    #expect(try await old.resume(id: "x", in: base) == 1)
    #expect(uses.lines.isEmpty)
    // The step in progress is repeated.
    #expect(ledger.lines == before + ["c"])
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
  fileprivate var isSuccess: Bool { failure == nil }
}
