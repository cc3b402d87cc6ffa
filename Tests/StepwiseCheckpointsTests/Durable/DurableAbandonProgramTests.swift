// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// Random programs with short limits, whose process dies at each write.
@Suite(.timeLimit(.minutes(5)))
struct DurableAbandonProgramTests {
  private indirect enum Node: Sendable {
    /// The times are in tenths of a millisecond.
    case step(String, time: Int, fails: Bool, undoTime: Int)
    case abandoned(after: Int, Node)
    case limited(to: Int, Node)
    case sequence([Node])
    case group([Node])
    case caught(Node)
    case scope(String, Node)
  }

  private struct Composer {
    var random: SeededGenerator
    private var count = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    private mutating func time() -> Int { number(0...1) == 0 ? 0 : number(0...30) }

    mutating func node(_ depth: Int) -> Node {
      count += 1
      guard depth > 0 else {
        return .step("s\(count)", time: time(), fails: number(0...7) == 0, undoTime: time())
      }
      let (name, depth) = ("g\(count)", depth - 1)
      switch number(0...9) {
      case 0...3: return .abandoned(after: number(0...30), node(depth))
      case 4: return .limited(to: number(0...30), node(depth))
      case 5, 6: return .sequence((0..<number(1...3)).map { _ in node(depth) })
      case 7: return .group((0..<number(1...3)).map { _ in node(depth) })
      case 8: return .caught(node(depth))
      default: return .scope(name, node(depth))
      }
    }
  }

  /// What has happened outside of the store.
  private final class World: Sendable {
    @TaskLocal static var process = 0

    private struct State {
      var lines: [(process: Int, isUndo: Bool, key: String)] = []
      var ended: Set<Int> = []
      var workCount = 0
    }

    private let state = Lock(State())

    /// Whether a body or an undo is in progress.
    var isBusy: Bool { state.withLock { $0.workCount > 0 } }

    /// What follows in a process that has ended is not stored.
    func end(_ process: Int) { state.withLock { _ = $0.ended.insert(process) } }

    private func work(_ time: Int, isUndo: Bool, fails: Bool = false) async throws {
      let key = String(CurrentStep.idempotencyKey?.split(separator: "-").last ?? "none")
      state.withLock { $0.workCount += 1 }
      // Whatever cancels the task.
      await Task.detached { if time > 0 { try? await Task.sleep(for: .microseconds(time * 100)) } }.value
      state.withLock { state in
        state.workCount -= 1
        if !fails, !state.ended.contains(Self.process) { state.lines.append((Self.process, isUndo, key)) }
      }
      if fails { throw Declined(card: key) }
    }

    func run(_ node: Node) async throws {
      switch node {
      case .step(let name, let time, let fails, let undoTime):
        try await step(name) {
          try await self.work(time, isUndo: false, fails: fails)
        } undo: {
          try await self.work(undoTime, isUndo: true)
        }
      case .abandoned(let time, let node):
        _ = try await chain("part", node).abandon(after: .microseconds(time * 100)).run(1)
      case .limited(let time, let node): _ = try await chain("part", node).timeout(.microseconds(time * 100)).run(1)
      case .sequence(let nodes): for node in nodes { try await run(node) }
      case .group(let nodes):
        try await withThrowingTaskGroup(of: Void.self) { group in
          for node in nodes { group.addTask { try await self.run(node) } }
          try await group.waitForAll()
        }
      case .caught(let node): do { try await run(node) } catch {}
      case .scope(let name, let node): try await steps(name) { try await self.run(node) }
      }
    }

    func chain(_ name: String, _ node: Node) -> Chain<Int, Int> {
      Chain(name) { (input: Int) in
        try await self.run(node)
        return input
      }
    }

    /// A step that was undone twice by the processes that did not die; nil when there is none.
    var undoneTwice: String? {
      var undone: Set<String> = []
      for line in state.withLock({ $0.lines }) where line.process > 1 {
        guard line.isUndo else {
          undone.remove(line.key)
          continue
        }
        if !undone.insert(line.key).inserted { return line.key }
      }
      return nil
    }
  }

  /// Runs a program whose process dies at a write; returns what is wrong, and whether it has died.
  private func fault(of program: Node, at last: Int, isLate: Bool) async throws -> (text: String?, hasDied: Bool) {
    let (world, base) = (World(), MemoryCheckpointStore())
    let chain = world.chain("abandon", program)
    let dying = DyingStore(base, at: last, isLate: isLate)
    // A run that fails leaves its work in doubt to the next process, and that may leave it to another one.
    for process in 1...6 {
      let result = await World.$process.withValue(process) {
        await Result.of {
          process == 1 ? try await chain.run(1, id: "x", in: dying) : try await chain.run(1, id: "x", in: base)
        }
      }
      world.end(process)
      while world.isBusy { await Task.yield() }
      if case .failure(let error as CheckpointError) = result { return ("process \(process): \(error)", true) }
      if let key = world.undoneTwice { return ("process \(process) undid \(key) again", true) }
      if process > 1, try await chain.unfinished(in: base).isEmpty { return (nil, dying.hasDied) }
    }
    return ("it does not end", true)
  }

  /// `STEPWISE_ABANDON_SEEDS` sets the number of programs.
  // G297
  @Test func `No process undoes abandoned work again, or takes another path`() async throws {
    let seeds = UInt64(ProcessInfo.processInfo.environment["STEPWISE_ABANDON_SEEDS"] ?? "") ?? 40
    let uses = Ledger()
    let patience = DurableRun.Patience(duration: .seconds(20)) { uses.add("waited") }
    try await DurableRun.Patience.$current.withValue(patience) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for seed in 1...seeds {
          group.addTask {
            var composer = Composer(seed: seed)
            let program = Node.sequence([composer.node(3), composer.node(2)])
            // The first write stores that there is a run.
            var (last, hasDied) = (2, true)
            while hasDied {
              for isLate in [false, true] {
                let fault = try await self.fault(of: program, at: last, isLate: isLate)
                guard fault.text == nil else {
                  Issue.record("seed \(seed) at \(last): \(fault.text ?? ""), \(program)")
                  return
                }
                hasDied = fault.hasDied
              }
              last += 1
            }
          }
        }
        try await group.waitForAll()
      }
    }
    #expect(uses.lines == [])
  }
}
