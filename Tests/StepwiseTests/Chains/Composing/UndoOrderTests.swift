// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Undos run newest first by completion, whichever chain the steps belong to.
@Suite(.timeLimit(.minutes(5)))
struct UndoOrderTests {
  /// A step that waits for its turn.
  private static func step(_ name: String, _ turns: Turns, _ log: Recorder<String>) -> Chain<Int, Int> {
    Chain(name, undo: { (_: Int) in log.record("undo \(name)") }) { (number: Int) in
      await turns.wait(for: name)
      return number
    }
    .then { number in
      // The step has completed, which its body cannot know.
      turns.pass()
      return number
    }
  }

  /// Lets steps complete in one order.
  private final class Turns: Sendable {
    private let order: [String]
    private let taken = Watched(0)

    init(_ order: String) { self.order = order.split(separator: " ").map(String.init) }

    func wait(for name: String) async {
      let turn = order.firstIndex(of: name) ?? 0
      await taken.wait { $0 == turn }
    }

    func pass() { taken.mutate { $0 += 1 } }
  }

  private static func branches(
    _ turns: Turns,
    _ log: Recorder<String>
  ) -> (a: Chain<Int, Int>, b: Chain<Int, Int>) {
    (
      step("a1", turns, log).appending(step("a2", turns, log)),
      step("b1", turns, log).appending(step("b2", turns, log))
    )
  }

  @Test(arguments: ["a1 b1 b2 a2", "b1 a1 a2 b2", "a1 a2 b1 b2"])
  func `Undos of a zip run newest first`(order: String) async {
    let log = Recorder<String>()
    let (a, b) = Self.branches(Turns(order), log)
    let chain = Chain("first", undo: { (_: Int) in log.record("undo first") }) { (number: Int) in number }
      .appending(Chain.zip(a, b).then("last", undo: { _ in log.record("undo last") }) { $0 + $1 })
      .then { _ -> Int in throw Fault(1) }
    await #expect(throws: Fault(1)) { try await chain.run(1) }
    let undone = ["last"] + order.split(separator: " ").reversed().map(String.init) + ["first"]
    #expect(log.elements == undone.map { "undo \($0)" })
  }

  // G33
  /// No branch waits for the undos of another one.
  @Test(arguments: ["error", "cancel"])
  func `While a zip runs, its branches undo their own steps concurrently`(what: String) async {
    let (log, gates, ready) = (Recorder<String>(), [Turnstile(), Turnstile()], Turnstile())
    func branch(_ index: Int) -> Chain<Int, Int> {
      let name = ["a", "b"][index]
      return Chain(undo: { (_: Int) in log.record("undo \(name)1") }) { (number: Int) in number }
        .then(undo: { _ in
          await gates[index].passWhateverHappens()
          log.record("undo \(name)2")
        }) { $0 }
        .then { number in
          try await ready.pass()
          if what == "error", index == 0 { throw Fault(1) }
          try await Turnstile().pass()
          return number
        }
    }
    let first = Chain("first", undo: { (_: Int) in log.record("undo first") }) { (number: Int) in number }
    let run = first.appending(Chain.zip(branch(0), branch(1)).then { $0 + $1 }).start(1)
    await ready.visitors(atLeast: 2)
    if what == "cancel" { run.cancel() }
    ready.open()
    for gate in gates { await gate.visitors(atLeast: 1) }
    gates[0].open()
    await log.elements(atLeast: 2)
    gates[1].open()
    _ = await run.outcome
    #expect(log.elements == ["undo a2", "undo a1", "undo b2", "undo b1", "undo first"])
  }

  @Test func `Undos beside the branch that fails run newest first`() async {
    let log = Recorder<String>()
    let turns = Turns("a1 b1 b2 a2 fail")
    let (a, b) = Self.branches(turns, log)
    let failing = Chain { (_: Int) -> Int in
      await turns.wait(for: "fail")
      throw Fault(1)
    }
    await #expect(throws: Fault(1)) { try await Chain.zip(a, b, failing).run(1) }
    #expect(log.elements == ["undo a2", "undo b2", "undo b1", "undo a1"])
  }

  @Test func `Undos of a race's losers run newest first`() async throws {
    let log = Recorder<String>()
    let turns = Turns("a1 b1 b2 a2")
    let (a, b) = Self.branches(turns, log)
    let (ended, winner) = (Watched(0), Chain { (number: Int) in number })
    // All have succeeded when the first of them is taken.
    let stay = Chain { (number: Int) in number }.finally { _ in
      ended.mutate { $0 += 1 }
      await ended.wait { $0 == 3 }
    }
    let value = try await Chain.race(winner.appending(stay), a.appending(stay), b.appending(stay)).run(1)
    #expect(value == 1)
    let all = ["undo a2", "undo b2", "undo b1", "undo a1"]
    // Whichever of the three won keeps what it did.
    #expect(log.elements == all || log.elements == ["undo a2", "undo a1"] || log.elements == ["undo b2", "undo b1"])
  }

  @Test func `Undos of steps covered by a timeout run newest first`() async {
    let log = Recorder<String>()
    let (a, b) = Self.branches(Turns("a1 b1 b2 a2"), log)
    let chain = Chain.zip(a, b).then { $0 + $1 }.timeout(.seconds(5), clock: ManualClock()).then { _ -> Int in
      throw Fault(1)
    }
    await #expect(throws: Fault(1)) { try await chain.run(1) }
    #expect(log.elements == ["undo a2", "undo b2", "undo b1", "undo a1"])
  }

  // G33
  @Test func `Undos reverse the completions for every seed`() async {
    await forEachSeed { generator in
      var generator = generator
      let (done, undone) = (Recorder<String>(), Recorder<String>())
      func part(_ name: String) -> Chain<Int, Int> {
        var chain = Chain { (number: Int) in number }
        for index in 0..<Int.random(in: 1..<5, using: &generator) {
          let turns = Int.random(in: 0..<4, using: &generator)
          chain = chain.then(undo: { _ in undone.record("\(name)\(index)") }) { number in
            for _ in 0..<turns { await Task.yield() }
            done.record("\(name)\(index)")
            return number
          }
        }
        return chain
      }
      let inner = Chain.zip(part("a"), part("b")).then { $0 + $1 }
      let chain = Chain.zip(inner, part("c"), part("d")).then { _, _, _ -> Int in throw Fault(1) }
      _ = await resultOf { try await chain.run(1) }
      try require(undone.elements == done.elements.reversed(), "done \(done.elements), undone \(undone.elements)")
    }
  }

  /// With what a failed part completed undone before what replaces the error.
  @Test(arguments: ["timeout", "abandon", "zip"])
  func `Completed steps of a failed part are undone before recover`(what: String) async throws {
    let log = Recorder<String>()
    let clock = ManualClock()
    let booked = Chain("a", undo: { _ in log.record("undo a") }) { (number: Int) in number }
    let failing = booked.then { _ -> Int in throw Fault(1) }
    let first = Chain("first", undo: { _ in log.record("undo first") }) { (number: Int) in number }
    let chain =
      switch what {
      case "timeout": failing.timeout(.seconds(1), clock: clock)
      case "abandon": failing.abandon(after: .seconds(1), clock: clock)
      default: first.appending(Chain.zip(booked, failing).then { $0 + $1 })
      }
    let recovered = chain.recover { error in
      log.record("recover \(error)")
      return 7
    }
    #expect(try await recovered.run(1) == 7)
    let undone = what == "zip" ? ["undo a", "undo a"] : ["undo a"]
    #expect(log.elements == undone + ["recover \(Fault(1))"])
    await #expect(throws: Fault(2)) { try await recovered.then { _ -> Int in throw Fault(2) }.run(1) }
    #expect(log.elements.filter { $0 == "undo first" }.count == (what == "zip" ? 1 : 0))
  }
}
