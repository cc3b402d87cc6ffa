// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ZipTests {
  // G47
  @Test func `zip runs chains on one input and returns all outputs in order`() async throws {
    let (double, text, sign) = try await Chain.zip(
      Chain { (number: Int) in number * 2 },
      Chain { (number: Int) in "\(number)" },
      Chain { (number: Int) in number > 0 }
    ).run(3)
    #expect((double, text) == (6, "3"))
    #expect(sign)
  }

  // G47
  @Test func `The branches of a zip run concurrently`() async throws {
    let turnstile = Turnstile()
    let one = Chain { (number: Int) in
      await turnstile.passWhateverHappens()
      return number
    }
    let opener = Chain { (number: Int) in
      await turnstile.visitors(atLeast: 2)
      turnstile.open()
      return number
    }
    let sum = try await Chain.zip(one, one, opener).then { $0 + $1 + $2 }.run(2)
    #expect(sum == 6)
  }

  @Test func `A zip of one branch is that branch`() async throws {
    #expect(try await Chain.zip(Chain { (number: Int) in number + 1 }).run(1) == 2)
  }

  @Test func `Optionals and existentials keep their types`() async throws {
    let (none, some, any) = try await Chain.zip(
      Chain { (_: Int) -> Int? in nil },
      Chain { (number: Int) -> Int?? in .some(number) },
      Chain { (number: Int) -> any Sendable in number }
    ).run(4)
    #expect(none == nil)
    #expect(some == 4)
    #expect(any as? Int == 4)
  }

  @Test func `A zip is a step of a chain`() async throws {
    let zipped = Chain.zip(Chain { (number: Int) in number + 1 }, Chain { (number: Int) in "\(number)" })
    let chain = Chain { (number: Int) in number * 10 }.appending(zipped).then { number, text in text + "/\(number)" }
    #expect(try await chain.run(1) == "10/11")
    #expect(try await chain.start(1).value == "10/11")
  }

  // G165
  @Test(arguments: [0, 1, 2, 1_000]) func `zip of a collection returns the outputs in order`(count: Int) async throws {
    let chains = (0..<count).map { index in
      Chain { (number: Int) in
        for _ in 0..<(count - index) % 5 { await Task.yield() }
        return number + index
      }
    }
    let zipped = Chain.zip(chains)
    #expect(try await zipped.run(7) == (0..<count).map { $0 + 7 })
    #expect(try await zipped.start(7).value == (0..<count).map { $0 + 7 })
    #expect(try await Chain.zip(chains.lazy.map { $0 }).run(7).count == count)
    #expect(try await Chain.zip(chains[...]).then { $0.count }.run(7) == count)
  }

  // G165
  @Test func `The first failure in a zip of a collection cancels, awaits and undoes the others`() async {
    let (log, waiting) = (Recorder<String>(), Turnstile())
    let others = ["a", "b", "c"].map { name in
      Chain(name, undo: { (_: Int) in log.record("undo") }) { (number: Int) in number }
        .then { number in
          try await waiting.pass()
          return number
        }
    }
    let failing = Chain { (number: Int) -> Int in
      await waiting.visitors(atLeast: 3)
      throw Fault(number)
    }
    await #expect(throws: Fault(4)) { try await Chain.zip(others + [failing]).run(4) }
    #expect(log.elements == ["undo", "undo", "undo"])
  }

  // G48
  @Test(arguments: [false, true])
  func `The first failure in zip cancels, awaits and undoes the others`(started: Bool) async {
    let log = Recorder<String>()
    let completed = Turnstile()
    let waiting = Turnstile()
    let done = Chain { (number: Int) in number }
      .then("done", undo: { _ in log.record("undo done") }) { $0 }
      .finally { _ in
        log.record("done")
        completed.open()
      }
    let interrupted = Chain { (number: Int) in number }
      .then("half", undo: { _ in log.record("undo half") }) { $0 }
      .then { number in
        do {
          try await waiting.pass()
        } catch {
          log.record("interrupted")
          throw error
        }
        return number
      }
      .finally { log.record("half \($0.brief)") }
    let failing = Chain { (number: Int) -> Int in
      await completed.passWhateverHappens()
      await waiting.visitors(atLeast: 1)
      throw Fault(number)
    }
    let chain = Chain { (number: Int) in number }
      .then("before", undo: { _ in log.record("undo before") }) { $0 }
      .appending(Chain.zip(done, interrupted, failing))
      .onError { log.record("onError \($0)") }
      .finally { log.record($0.brief) }
    let result = await resultOf {
      if started { _ = try await chain.start(3).value } else { _ = try await chain.run(3) }
    }
    #expect(result.brief == "failure \(Fault(3))")
    #expect(
      log.elements == [
        "done", "interrupted", "undo half", "half cancelled -", "undo done", "undo before",
        "onError \(Fault(3))", "failed \(Fault(3))",
      ]
    )
  }

  @Test func `Completed branches are undone when a later step fails`() async {
    let (log, left) = (Recorder<String>(), Recorder<Int>())
    let first = Chain { (number: Int) in number }
      .then("left", undo: { _ in log.record("left") }) { $0 }
      .then { number in
        left.record(number)
        return number
      }
    let second = Chain { (number: Int) in number }
      .then("right", undo: { _ in log.record("right") }) { number in
        // Completes after the other one.
        await left.elements(atLeast: 1)
        return number
      }
    let chain = Chain.zip(first, second).then { _ -> Int in throw Fault(1) }
    await #expect(throws: Fault(1)) { try await chain.run(1) }
    #expect(log.elements == ["right", "left"])
  }

  @Test func `Undos of siblings that fail are reported`() async {
    let log = Recorder<String>()
    let completed = Turnstile()
    let done = Chain { (number: Int) in number }
      .then("done", undo: { _ in throw Fault(8) }) { $0 }
      .finally { _ in completed.open() }
    let failing = Chain { (number: Int) -> Int in
      await completed.passWhateverHappens()
      throw Fault(number)
    }
    let run = Chain.zip(done, failing).onError { log.record("\($0)") }.start(1)
    _ = await run.outcome
    #expect(log.elements == ["\(Fault(1))", "done could not be undone: \(Fault(8))"])
    #expect(run.undoErrors.count == 1)
  }

  @Test func `A cancellation reaches all branches with its reason`() async {
    let states = Recorder<String>()
    let turnstile = Turnstile()
    let part = Chain { (number: Int) in try await turnstile.pass() }.finally { states.record($0.brief) }
    let run = Chain.zip(part, part, part).finally { states.record("whole \($0.brief)") }.start(1)
    await turnstile.visitors(atLeast: 3)
    run.cancel(reason: "left")
    _ = await run.outcome
    #expect(states.elements == Array(repeating: "cancelled left", count: 3) + ["whole cancelled left"])
  }

  @Test func `recover covers the whole zip`() async throws {
    let chain = Chain.zip(Chain { (number: Int) in number }, Chain { (_: Int) -> Int in throw Fault(1) })
      .recover { _ in (7, 8) }
      .then { $0 + $1 }
    #expect(try await chain.run(1) == 15)
  }

  // G48
  /// After the end nothing of a sibling runs any more, whatever the order.
  @Test func `Branches end before their run for every seed`() throws {
    for seed in seeds() {
      let inside = Recorder<Int>()
      let undone = Recorder<Int>()
      let (late, ends, completed) = try SeededExecutor(seed: seed).run {
        let done = Recorder<Int>()
        func part(_ name: Int) -> Chain<Int, Int> {
          Chain { (number: Int) in
            inside.record(0)
            for _ in 0..<name { await Task.yield() }
            return number
          }
          .then("book", undo: { _ in undone.record(name) }) { number in
            done.record(name)
            return number
          }
          .then { number in
            await Task.yield()
            if name == 2 { throw Fault(2) }
            return number
          }
          .finally { _ in inside.record(1) }
        }
        _ = await resultOf { try await Chain.zip(part(1), part(2), part(3), part(2)).run(0) }
        let ends = inside.elements.reduce(0, +)
        let count = inside.elements.count
        for _ in 0..<10 { await Task.yield() }
        return (inside.elements.count - count, ends, done.elements)
      }
      try #require(late == 0 && ends == 4, "seed \(seed)")
      try #require(undone.elements.sorted() == completed.sorted(), "seed \(seed)")
    }
  }
}
