// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RaceTests {
  private func failing(_ number: Int) -> Chain<Int, Int> {
    Chain { (_: Int) in throw Fault(number) }
  }

  // G49
  @Test func `race returns the first success`() async throws {
    let turnstile = Turnstile()
    let slow = Chain { (number: Int) in
      try await turnstile.pass()
      return number
    }
    let fast = Chain { (number: Int) in number + 1 }
    #expect(try await Chain.race(slow, failing(1), fast, slow).run(1) == 2)
    #expect(try await Chain.race(slow, fast).then { $0 * 10 }.start(1).value == 20)
  }

  // G49
  @Test func `When no branch succeeds, all errors are thrown in order`() async throws {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let last = Chain { (_: Int) -> Int in
      await turnstile.passWhateverHappens()
      throw Fault(1)
    }
    let opener = Chain { (_: Int) -> Int in
      turnstile.open()
      throw Fault(2)
    }
    let chain = Chain.race(last, opener, failing(3)).onError { log.record("\($0)") }
    let error = try await #require(throws: RaceError.self) { try await chain.run(0) }
    #expect(error.errors.map { $0 as? Fault } == [Fault(1), Fault(2), Fault(3)])
    #expect(log.elements == ["\(error)"])
  }

  @Test func `A race without branches has no winner`() async throws {
    let error = try await #require(throws: RaceError.self) { try await Chain<Int, Int>.race().run(0) }
    #expect(error.errors.isEmpty)
  }

  // G165
  @Test func `race of a collection returns the first success`() async throws {
    let turnstile = Turnstile()
    let slow = Chain { (number: Int) in
      try await turnstile.pass()
      return number
    }
    let fast = Chain { (number: Int) in number + 1 }
    let chains = Array(repeating: slow, count: 20) + [failing(1), fast]
    #expect(try await Chain.race(chains).run(1) == 2)
    #expect(try await Chain.race(chains[20...]).start(1).value == 2)
    #expect(try await Chain.race(["a": fast].values).run(3) == 4)
    let failed = try await #require(throws: RaceError.self) { try await Chain.race((1...3).map(failing)).run(0) }
    #expect(failed.errors.map { $0 as? Fault } == [Fault(1), Fault(2), Fault(3)])
    let empty = try await #require(throws: RaceError.self) { try await Chain.race([Chain<Int, Int>]()).run(0) }
    #expect(empty.errors.isEmpty)
  }

  @Test func `A race of one branch is that branch`() async throws {
    #expect(try await Chain.race(Chain { (number: Int) in number }).run(4) == 4)
    let error = try await #require(throws: RaceError.self) { try await Chain.race(failing(1)).run(4) }
    #expect(error.errors.count == 1)
  }

  @Test func `Optionals keep their types`() async throws {
    let result = try await Chain.race(Chain { (_: Int) -> Int?? in .some(.none) }).run(0)
    #expect(result == .some(.none))
  }

  // G49
  /// Losers are cancelled and awaited; what they completed is undone.
  @Test func `Losers are cancelled, awaited and undone`() async throws {
    let log = Recorder<String>()
    let waiting = Turnstile()
    let ending = Turnstile()
    let loser = Chain { (number: Int) in number }
      .then("half", undo: { _ in log.record("undo half") }) { $0 }
      .then { number in
        do { try await waiting.pass() } catch {
          log.record("interrupted")
          throw error
        }
        return number
      }
      .onError { _ in log.record("onError") }
      .finally { state in
        await ending.passWhateverHappens()
        log.record("loser \(state.brief)")
      }
    let winner = Chain { (number: Int) in
      await waiting.visitors(atLeast: 1)
      return number + 1
    }
    .then("won", undo: { _ in log.record("undo won") }) { $0 }
    let run = Chain.race(loser, winner).start(1)
    await ending.visitors(atLeast: 1)
    #expect(!run.isFinished)
    ending.open()
    #expect(try await run.value == 2)
    #expect(log.elements == ["interrupted", "undo half", "loser cancelled -"])
  }

  @Test func `A loser that still succeeded is undone`() async throws {
    let log = Recorder<String>()
    let (waiting, opening) = (Turnstile(), Turnstile())
    let interrupted = Chain { (number: Int) in
      await waiting.passWhateverHappens()
      return number
    }
    .then("late", undo: { _ in log.record("undo late") }) { $0 }
    let succeeding = Chain { (number: Int) in number }
      .then("kept", undo: { (number: Int) in log.record("undo kept \(number)") }) { number in
        await waiting.passWhateverHappens()
        return number
      }
    let winner = Chain { (number: Int) in
      await waiting.visitors(atLeast: 2)
      await opening.visitors(atLeast: 1)
      return number + 1
    }
    let opener = Chain { (_: Int) -> Int in
      do {
        try await opening.pass()
      } catch {
        waiting.open()
        throw error
      }
      return 0
    }
    #expect(try await Chain.race(interrupted, succeeding, winner, opener).run(1) == 2)
    #expect(log.elements == ["undo kept 1"])
  }

  @Test func `The undos of the winner belong to the outer run`() async {
    let log = Recorder<String>()
    let winner = Chain { (number: Int) in number }.then("won", undo: { _ in log.record("undo won") }) { $0 }
    let chain = Chain.race(failing(1), winner).then { _ -> Int in throw Fault(9) }
    await #expect(throws: Fault(9)) { try await chain.run(1) }
    #expect(log.elements == ["undo won"])
  }

  @Test func `A cancelled race is cancelled`() async {
    let turnstile = Turnstile()
    let states = Recorder<String>()
    let part = Chain { (number: Int) in
      try await turnstile.pass()
      return number
    }
    .finally { states.record($0.brief) }
    let run = Chain.race(part, part).start(1)
    await turnstile.visitors(atLeast: 2)
    run.cancel(reason: "left")
    #expect(await run.outcome.brief == "cancelled left")
    #expect(states.elements == ["cancelled left", "cancelled left"])
  }

  // G49
  @Test func `Exactly one branch wins for every seed`() throws {
    for seed in seeds() {
      let (value, done, undone, late) = try SeededExecutor(seed: seed).run {
        let done = Recorder<Int>()
        let undone = Recorder<Int>()
        let ends = Recorder<Int>()
        func part(_ name: Int) -> Chain<Int, Int> {
          Chain { (number: Int) in
            await Task.yield()
            return name
          }
          .then("book", undo: { undone.record($0) }) { number in
            done.record(number)
            return number
          }
          .finally { _ in ends.record(name) }
        }
        let value = try await Chain.race(part(1), part(2), part(3)).run(0)
        let count = ends.elements.count
        return (value, done.elements, undone.elements, count)
      }
      try #require(late == 3, "seed \(seed)")
      try #require(done.contains(value) && !undone.contains(value), "seed \(seed)")
      try #require((undone + [value]).sorted() == done.sorted(), "seed \(seed)")
    }
  }
}
