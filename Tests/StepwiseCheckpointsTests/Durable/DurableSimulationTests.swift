// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// Chains that a seed composes, whose process dies again and again, and that are cancelled in between.
@Suite(.timeLimit(.minutes(5)))
struct DurableSimulationTests {
  /// A part of a chain's code.
  indirect enum Node: Sendable {
    /// A step that fails a number of times, and would then succeed.
    case work(String, undo: Bool, failures: Int)
    /// Steps that are tried again when one of them fails.
    case steps(String, attempts: Int, [Node])
    /// Code that catches the error of a step, and calls another one instead.
    case fallback(String, Node)
    /// Steps in child tasks.
    case children([Node])
    case wait(String)

    var withoutUndo: Node {
      switch self {
      case .work(let name, _, let failures): .work(name, undo: false, failures: failures)
      case .steps(let name, let attempts, let nodes): .steps(name, attempts: attempts, nodes.map(\.withoutUndo))
      case .fallback(let name, let node): .fallback(name, node.withoutUndo)
      case .children(let nodes): .children(nodes.map(\.withoutUndo))
      case .wait: self
      }
    }
  }

  /// A part of a chain.
  enum Link: Sendable {
    case code(String, [Node])
    case map(String, width: Int, [Node])
    case zip([Node], [Node])
    case race([Node], [Node])
    case nested([Node])
    case recover(String)
    case retry
    case timeout
    case abandon
  }

  /// Composes a chain.
  struct Composer {
    var random: SeededGenerator
    private var count = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    private mutating func name(_ kind: String) -> String {
      count += 1
      return "\(kind)\(count)"
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

    private mutating func node(_ depth: Int, isChild: Bool = false) -> Node {
      switch Int.random(in: 0..<(depth > 2 ? 5 : 11), using: &random) {
      case 5: return .fallback(name("f"), .work(name("w"), undo: false, failures: chance(2) ? 1 : 0))
      case 6 where !isChild: return .children((0..<3).map { _ in node(depth + 1, isChild: true) })
      case 7 where !isChild: return .wait(name("z"))
      case 8, 9: return .steps(name("s"), attempts: 1, nodes(depth + 1))
      case 10: return .steps(name("r"), attempts: 3, nodes(depth + 1))
      default: return .work(name("w"), undo: chance(2), failures: chance(12) ? 1 : 0)
      }
    }

    private mutating func nodes(_ depth: Int) -> [Node] {
      (0..<Int.random(in: 1...3, using: &random)).map { _ in node(depth) }
    }

    mutating func links() -> [Link] {
      (0..<Int.random(in: 1...4, using: &random)).map { _ in
        switch Int.random(in: 0..<12, using: &random) {
        case 0: .map(name("m"), width: Int.random(in: 1...3, using: &random), nodes(2))
        case 1: .zip(nodes(1), nodes(1))
        case 2: .race(nodes(1), nodes(1))
        case 3: .nested(nodes(1))
        case 4: .recover(name("c"))
        case 5: .retry
        case 6: .timeout
        case 7: .abandon
        default: .code(name("b"), nodes(0))
        }
      }
    }
  }

  /// A program, with a ledger outside of its store.
  struct Program: Sendable {
    let ledger = Ledger()
    let seed: UInt64

    private func work(_ name: String, failures: Int) throws {
      ledger.add("do \(name)")
      if ledger.count("do \(name)") <= failures {
        ledger.add("fail \(name)")
        throw Declined(card: name)
      }
      ledger.add("done \(name)")
    }

    /// Runs nodes; the names have a suffix where they are repeated.
    private func run(_ nodes: [Node], _ suffix: String = "") async throws {
      for node in nodes {
        switch node {
        case .work(let plain, let undo, let failures):
          let name = plain + suffix
          guard undo else {
            try await step(plain) { try work(name, failures: failures) }
            continue
          }
          _ = try await step(plain) {
            try work(name, failures: failures)
            return name
          } undo: {
            ledger.add("undo \($0)")
          }
          ledger.add("got \(name)")
        case .steps(let name, let attempts, let nodes):
          let policy = attempts > 1 ? RetryPolicy(maxAttempts: attempts, backoff: .none) : nil
          try await steps(name, retry: policy) { try await run(nodes, suffix) }
        case .fallback(let name, let node):
          do {
            try await run([node], suffix)
          } catch is Declined {
            try await step(name) { ledger.add("done \(name + suffix)") }
          }
        case .children(let nodes):
          try await withThrowingTaskGroup(of: Void.self) { group in
            for node in nodes { group.addTask { try await run([node], suffix) } }
            while try await group.next() != nil {}
          }
        case .wait(let name): try await step(name, sleep: .zero)
        }
      }
    }

    private func chain(_ name: String, _ nodes: [Node]) -> Chain<Int, Int> {
      Chain(name) { (input: Int) in
        try await run(nodes)
        return input
      }
    }

    var links: [Link] {
      var composer = Composer(seed: seed)
      return composer.links()
    }

    var chain: Chain<Int, Int> {
      var chain = Chain("start") { (input: Int) in input }
      for (index, link) in links.enumerated() {
        switch link {
        case .code(let name, let nodes):
          chain = chain.appending(self.chain(name, nodes))
        case .map(let name, let width, let nodes):
          chain = chain.then("list \(index)") { (input: Int) in [0, 1, 2, 3] }
            .thenMap(name, maxConcurrent: width) { element in
              // They are part of the step.
              try await run(nodes.map(\.withoutUndo), ".\(element)")
              return element
            }
            .then("sum \(index)") { (all: [Int]) in all.count }
        case .zip(let left, let right):
          let both = Chain.zip(self.chain("l", left), self.chain("r", right)).then("join \(index)") { $0 + $1 }
          chain = chain.appending(both)
        case .race(let left, let right):
          chain = chain.appending(Chain.race(self.chain("l", left), self.chain("r", right)))
        case .nested(let nodes): chain = chain.appending(self.chain("n", nodes))
        case .recover(let name):
          chain = chain.recover(from: Declined.self) { _ in
            ledger.add("recover \(name)")
            return 0
          }
        case .retry: chain = chain.retry(RetryPolicy(maxAttempts: 3, backoff: .none))
        case .timeout: chain = chain.timeout(.seconds(3_600))
        case .abandon: chain = chain.abandon(after: .seconds(3_600))
        }
      }
      return chain.named("simulation")
    }

    /// The names of the steps that are undone only when the run fails, and of what replaces steps, by these steps.
    ///
    /// A nested chain, or a part with a time limit, that fails undoes what it completed, also when its error is replaced.
    func facts() -> (plainUndos: Set<String>, all: Set<String>, fallbacks: [(work: String, other: String)]) {
      var plain: Set<String> = []
      var all: Set<String> = []
      var fallbacks: [(work: String, other: String)] = []
      func add(_ nodes: [Node], _ suffixes: [String], isPlain: Bool) {
        for node in nodes {
          switch node {
          case .work(let name, true, _):
            all.formUnion(suffixes.map { name + $0 })
            if isPlain { plain.formUnion(suffixes.map { name + $0 }) }
          case .work, .wait: break
          case .steps(_, let attempts, let inner):
            add(inner, suffixes, isPlain: isPlain && attempts == 1)
          case .fallback(let other, let node):
            if isPlain, case .work(let name, _, _) = node {
              for suffix in suffixes { fallbacks.append((name + suffix, other + suffix)) }
            }
          case .children(let inner): add(inner, suffixes, isPlain: isPlain)
          }
        }
      }
      let hasRetry = links.contains { if case .retry = $0 { true } else { false } }
      let isRecovered = ledger.lines.contains { $0.hasPrefix("recover") }
      for (index, link) in links.enumerated() {
        let isLimited = links[index...].contains { link in
          switch link {
          case .timeout, .abandon: true
          default: false
          }
        }
        let isPlain = !hasRetry && !(isRecovered && isLimited)
        switch link {
        case .code(_, let nodes), .nested(let nodes): add(nodes, [""], isPlain: isPlain && !isRecovered)
        case .zip(let left, let right), .race(let left, let right): add(left + right, [""], isPlain: false)
        default: break
        }
      }
      return (plain, all, fallbacks)
    }
  }

  /// Runs a program in processes that die; returns what was wrong.
  private func trial(_ seed: UInt64) async throws -> [String] {
    let program = Program(seed: seed)
    let (chain, base) = (program.chain, MemoryCheckpointStore())
    var random = SeededGenerator(seed: seed &+ 1_000_000)
    var result = "nothing"
    var problems: [String] = []
    for process in 0..<12 {
      let isLast = process > 8
      let death = isLast ? Int.max : Int.random(in: 2...14, using: &random)
      let store = DyingStore(base, at: death, isLate: Bool.random(using: &random))
      do {
        _ = try await chain.run(1, id: "x", in: store)
        result = "done"
      } catch is DyingStore.Death {
        result = "died"
      } catch let error as CheckpointError {
        result = "\(error)"
        if case .stopped = error { break }
        problems.append("process \(process): \(error)")
      } catch {
        result = "\(error)"
      }
      let unfinished = try await chain.unfinished(in: base)
      if result != "died", unfinished.isEmpty { break }
      if !isLast, !unfinished.isEmpty, Int.random(in: 0..<6, using: &random) == 0 {
        _ = try await chain.cancel(id: "x", in: base)
      }
    }
    if try await !chain.unfinished(in: base).isEmpty {
      let events = try await base.load("x")?.durableRun(at: "memory")?.events ?? []
      problems.append("it does not end: \(events)")
    }
    let (plain, all, fallbacks) = program.facts()
    let lines = program.ledger.lines
    func isUndone(_ step: String) -> Bool {
      guard let done = lines.lastIndex(of: "done \(step)") else { return true }
      return lines.lastIndex(of: "undo \(step)").map { $0 > done } ?? false
    }
    // In a run that ends with a value, what has completed remains. What a failure has interrupted counts as failed, so it
    // is undone if it has happened, even if it has to be repeated first.
    let kept = result == "done" ? plain.filter { lines.contains("got \($0)") } : []
    problems += kept.filter { lines.contains("undo \($0)") }.map { "\($0) was undone" }
    let undone = result == "done" ? plain.subtracting(kept) : all
    problems += undone.filter { !isUndone($0) }.map { "\($0) was not undone" }
    for (work, other) in fallbacks where lines.contains("done \(work)") && lines.contains("done \(other)") {
      problems.append("\(work) and \(other) have happened")
    }
    return problems.map { "seed \(seed), \(result): \($0); \(program.links) \(lines)" }
  }

  // G141
  @Test
  func `Whatever is composed ends, in one way, with every undo`() async throws {
    let rounds = ProcessInfo.processInfo.environment["STEPWISE_SIMULATIONS"].flatMap(UInt64.init) ?? 90
    let first = ProcessInfo.processInfo.environment["STEPWISE_SEED"].flatMap(UInt64.init) ?? 0
    for seed in first..<first + rounds {
      let start = ContinuousClock.now
      // A replay waits so long for a step that the code does not call.
      let problems = try await DurableRun.Patience.$current.withValue(.init(duration: .seconds(120))) {
        try await trial(seed)
      }
      #expect(ContinuousClock.now - start < .seconds(60), "seed \(seed)")
      #expect(problems == [], "\(problems.joined(separator: "\n"))")
    }
  }
}
