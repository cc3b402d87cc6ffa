// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFiles
import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// Random programs with child tasks, races, limits, retries and undos that fail, whose process dies at each write; a
/// ledger outside of the store counts each body and each undo by its key.
///
/// `STEPWISE_LEDGER_SEEDS` sets the number of programs.
@Suite(.timeLimit(.minutes(20)))
struct DurableLedgerTests {
  indirect enum Node: Sendable {
    case step(String, undo: Bool, failures: Int)
    case sequence([Node])
    /// Child tasks; the first error cancels the others.
    case group([Node])
    /// Child tasks of which the first value counts.
    case first([Node])
    case caught(Node)
    case scope(String, Node)
    case retried(String, delay: Bool, Node)
    /// A limit that is over soon, or never.
    case limited(String, isShort: Bool, Node)
    case race(Node, Node)
    case zip(Node, Node)
  }

  struct Composer {
    var random: SeededGenerator
    private var count = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    private mutating func name() -> String {
      count += 1
      return "s\(count)"
    }

    mutating func node(_ depth: Int) -> Node {
      guard depth > 0, number(0...3) > 0 else {
        return .step(name(), undo: number(0...2) > 0, failures: [0, 0, 0, 0, 1, 2, 9][number(0...6)])
      }
      let depth = depth - 1
      switch number(0...11) {
      case 0, 1: return .sequence((0..<number(2...3)).map { _ in node(depth) })
      case 2: return .group((0..<number(2...4)).map { _ in node(depth) })
      case 3: return .first((0..<number(2...3)).map { _ in node(depth) })
      case 4: return .caught(node(depth))
      case 5: return .scope(name(), node(depth))
      case 6, 7: return .retried(name(), delay: number(0...1) == 0, node(depth))
      case 8: return .limited(name(), isShort: false, node(depth))
      case 9: return .caught(.limited(name(), isShort: true, node(depth)))
      case 10: return .race(node(depth), node(depth))
      default: return .caught(.zip(node(depth), node(depth)))
      }
    }
  }

  /// What a deployment does to one step of a program.
  enum Change: CaseIterable {
    case renamed, preceded

    func apply(to step: String, in node: Node) -> Node {
      func change(_ node: Node) -> Node { apply(to: step, in: node) }
      switch node {
      case .step(step, let undo, let failures):
        switch self {
        case .renamed: return .step("changed", undo: undo, failures: failures)
        case .preceded: return .sequence([.step("changed", undo: undo, failures: 0), node])
        }
      case .step: return node
      case .sequence(let nodes): return .sequence(nodes.map(change))
      case .group(let nodes): return .group(nodes.map(change))
      case .first(let nodes): return .first(nodes.map(change))
      case .caught(let node): return .caught(change(node))
      case .scope(let name, let node): return .scope(name, change(node))
      case .retried(let name, let delay, let node): return .retried(name, delay: delay, change(node))
      case .limited(let name, let isShort, let node): return .limited(name, isShort: isShort, change(node))
      case .race(let left, let right): return .race(change(left), change(right))
      case .zip(let left, let right): return .zip(change(left), change(right))
      }
    }
  }

  /// What happened outside of the store, in order: "do", "done" and "undo" with the key of a step.
  final class World: Sendable {
    let ledger = Ledger()
    private let random: Lock<SeededGenerator>

    init(seed: UInt64) { random = Lock(SeededGenerator(seed: seed)) }

    private func number(_ range: ClosedRange<Int>) -> Int { random.withLock { Int.random(in: range, using: &$0) } }

    private var key: String { String(CurrentStep.idempotencyKey?.split(separator: "-").last ?? "none") }

    func body(_ name: String, failures: Int) async throws -> String {
      let key = key
      ledger.add("do \(key)")
      for _ in 0..<number(0...4) { await Task.yield() }
      if number(0...1) == 0 { try Task.checkCancellation() }
      if failures > 0 {
        ledger.add("fail \(name)")
        if ledger.count("fail \(name)") <= failures { throw Declined(card: name) }
      }
      ledger.add("done \(key)")
      return name
    }

    func undo() async throws {
      if number(0...5) == 0 { throw Opaque() }
      ledger.add("undo \(key)")
    }

    func run(_ node: Node) async throws {
      switch node {
      case .step(let name, true, let failures):
        _ = try await step(name) {
          try await self.body(name, failures: failures)
        } undo: { _ in
          try await self.undo()
        }
      case .step(let name, false, let failures):
        _ = try await step(name) { try await self.body(name, failures: failures) }
      case .sequence(let nodes): for node in nodes { try await run(node) }
      case .group(let nodes):
        try await withThrowingTaskGroup(of: Void.self) { group in
          for node in nodes { group.addTask { try await self.run(node) } }
          while try await group.next() != nil {}
        }
      case .first(let nodes):
        try await withThrowingTaskGroup(of: Void.self) { group in
          for node in nodes { group.addTask { try await self.run(node) } }
          try await group.next()
          group.cancelAll()
        }
      case .caught(let node): do { try await run(node) } catch {}
      case .scope(let name, let node): try await steps(name) { try await self.run(node) }
      case .retried(let name, let delay, let node):
        let backoff = delay ? Backoff.constant(.milliseconds(1)) : .none
        try await steps(name, retry: RetryPolicy(maxAttempts: 2, backoff: backoff)) { try await self.run(node) }
      case .limited(let name, let isShort, let node):
        try await steps(name, timeout: isShort ? .milliseconds(1) : .seconds(3_600)) { try await self.run(node) }
      case .race(let left, let right): _ = try await Chain.race(chain("l", left), chain("r", right)).run(1)
      case .zip(let left, let right): _ = try await Chain.zip(chain("l", left), chain("r", right)).run(1)
      }
    }

    func chain(_ name: String, _ node: Node) -> Chain<Int, Int> {
      Chain(name) { (input: Int) in
        try await self.run(node)
        return input
      }
    }
  }

  /// A store that retains what a run has stored before its record is replaced.
  private final class HistoryStore: ForwardingStore {
    let base: any CheckpointStore = MemoryCheckpointStore()
    private let entries = Lock([[UInt8]]())

    func write(_ entry: [UInt8]?, of id: String, _ write: () async throws -> Void) async throws {
      try await write()
      if let entry { entries.withLock { $0.append(entry) } }
    }

    func log() throws -> DurableLog {
      DurableLog(try entries.withLock { $0 }.flatMap { try DurableEvent.events(in: $0) })
    }
  }

  /// Runs a program whose process dies after each write, and returns what is wrong.
  private func fault(of seed: UInt64) async throws -> String? {
    var composer = Composer(seed: seed)
    let program = Node.sequence([composer.node(3), composer.node(2)])
    let (world, base) = (World(seed: seed), HistoryStore())
    let chain = world.chain("ledger", program)
    let cancelled = composer.number(0...3) == 0 ? composer.number(2...12) : 0
    // The bodies that may not begin again, by their keys.
    var stored: [String: Int] = [:]
    for process in 1...150 {
      let isLast = process > 120
      let store = DyingStore(base, at: isLast ? .max : composer.number(2...4), isLate: composer.number(0...1) == 0)
      if process == cancelled { _ = try await chain.cancel(id: "x", in: base) }
      let result = await Result.of { try await chain.run(1, id: "x", in: store) }
      if case .failure(let error as CheckpointError) = result { return "process \(process): \(error); \(program)" }
      let log = try base.log()
      for (key, count) in stored where world.ledger.count("do \(key)") > count {
        return "process \(process) ran a completed step again: \(program)"
      }
      var (ends, released) = ([String: DurableLog.Record](), Set<String>())
      for (path, end) in log.records {
        let key = SHA256.hex(Array(path.utf8))
        // Nothing undoes what a chain has done that has ended with a value between the steps.
        if path.contains("/chain"), end.isUndone { released.insert(key) }
        ends[key] = end
        if case .success = end.end { stored[key] = stored[key] ?? world.ledger.count("do \(key)") }
      }
      guard try await base.load("x") != nil, try await chain.unfinished(in: base).isEmpty else { continue }
      // What has happened counts, or was undone afterwards.
      let lines = world.ledger.lines
      let isResolved = if case .concluded(.resolved) = log.phase { true } else { false }
      let undoable = Set(lines.filter { $0.hasPrefix("undo") }.map { String($0.dropFirst(5)) })
        .union(ends.filter(\.value.isUndoable).keys)
      for key in undoable.subtracting(released) {
        guard let done = lines.lastIndex(of: "done \(key)") else { continue }
        let isUndone = lines.lastIndex(of: "undo \(key)").map { $0 > done } ?? false
        let isKept = isResolved && ends[key].map { $0.isUndoable && !$0.isUndone } ?? false
        if isKept == isUndone {
          return "\(key) is kept: \(isKept), undone: \(isUndone), \(result): \(program), \(lines)"
        }
      }
      return nil
    }
    return "it does not end: \(program)"
  }

  /// Deploys changed code in a run whose process has died, and returns what is wrong.
  private func faultOfDeployment(_ change: Change, seed: UInt64) async throws -> String? {
    var composer = Composer(seed: seed)
    let program = Node.sequence([composer.node(3), composer.node(2)])
    let (world, base) = (World(seed: seed), HistoryStore())
    let chain = world.chain("ledger", program)
    _ = try? await chain.run(1, id: "x", in: DyingStore(base, at: composer.number(3...9), isLate: true))
    let log = try base.log()
    // Those in doubt may be performed where their ends are stored, before the changed one.
    let stored = log.records.keys.filter { !log.begun.contains($0) }.sorted()
    guard !log.isEnded, let key = stored.randomElement(using: &composer.random) else { return nil }
    let step = String(key.split(separator: "/").last ?? "")
    let before = world.ledger.lines
    let changed = world.chain("ledger", change.apply(to: step, in: program))
    let result = await Result.of { try await changed.resume(id: "x", in: base) }
    guard case .failure(CheckpointError.differentSteps) = result else { return "\(step): \(result), \(program)" }
    let ran = world.ledger.lines.dropFirst(before.count).filter { $0.hasPrefix("do") }
    let repeated = Set(log.begun.map { "do \(SHA256.hex(Array($0.utf8)))" })
    guard repeated.isSuperset(of: ran) else { return "\(step): bodies ran: \(ran), \(program)" }
    // The old code can still be resumed.
    for _ in 0..<20 {
      let result = await Result.of { try await chain.resume(id: "x", in: base) }
      if case .failure(let error as CheckpointError) = result { return "\(step): \(error), \(program)" }
      if try await chain.unfinished(in: base).isEmpty { return nil }
    }
    return "it does not end: \(program)"
  }

  /// Looks for a fault in programs; none waits for a timer.
  private func check(_ fault: (_ seed: UInt64) async throws -> String?) async throws {
    let environment = ProcessInfo.processInfo.environment
    let count = UInt64(environment["STEPWISE_LEDGER_SEEDS"] ?? "") ?? 60
    let first = UInt64(environment["STEPWISE_LEDGER_FIRST"] ?? "") ?? 1
    let uses = Ledger()
    let patience = DurableRun.Patience(duration: .seconds(20)) { uses.add("waited") }
    try await DurableRun.Patience.$current.withValue(patience) {
      for seed in first..<(first + count) {
        let fault = try await fault(seed)
        #expect(fault == nil && uses.lines.isEmpty, "seed \(seed)")
        if fault != nil || !uses.lines.isEmpty { return }
      }
    }
  }

  // G183, G194
  @Test(arguments: Change.allCases)
  func `A deployment is noticed before a body runs, and the old code can be resumed`(change: Change) async throws {
    try await check { try await faultOfDeployment(change, seed: $0) }
  }

  // G199
  @Test func `A ledger counts each completed step once, and each undo that is due`() async throws {
    try await check { try await fault(of: $0) }
  }
}
