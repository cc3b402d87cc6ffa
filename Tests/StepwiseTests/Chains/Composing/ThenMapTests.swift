// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ThenMapTests {
  private struct Load: Sendable {
    var now = 0
    var most = 0
  }

  // G50
  @Test func `The order of the elements is kept`() async throws {
    let chain = Chain { (count: Int) in Array(0..<count) }
      .thenMap(maxConcurrent: 4) { number in
        for _ in 0..<(number * 7) % 5 { await Task.yield() }
        return "\(number)"
      }
    #expect(try await chain.run(100) == (0..<100).map { "\($0)" })
    #expect(try await chain.start(100).value == (0..<100).map { "\($0)" })
  }

  @Test(arguments: [1, 2, 5, 100])
  func `The concurrency limit holds`(limit: Int) async throws {
    let load = Watched(Load())
    let chain = Chain { Array(0..<50) }.thenMap("map", maxConcurrent: limit) { number in
      load.mutate {
        $0.now += 1
        $0.most = max($0.most, $0.now)
      }
      await Task.yield()
      load.mutate { $0.now -= 1 }
      return number
    }
    #expect(try await chain.run() == Array(0..<50))
    let most = load.read(\.most)
    #expect(most <= limit)
  }

  @Test func `As many elements as allowed run at once`() async throws {
    let turnstile = Turnstile()
    let chain = Chain { Array(0..<10) }.thenMap(maxConcurrent: 4) { number in
      await turnstile.passWhateverHappens()
      return number
    }
    let run = chain.start()
    await turnstile.visitors(atLeast: 4)
    #expect(turnstile.visitorCount == 4)
    turnstile.open()
    #expect(try await run.value == Array(0..<10))
  }

  // G50
  @Test func `The limit is never exceeded for any seed`() throws {
    for seed in seeds() {
      let limit = Int(seed % 4) + 1
      let load = Watched(Load())
      let output = try SeededExecutor(seed: seed).run {
        try await Chain { Array(0..<9) }.thenMap(maxConcurrent: limit) { number in
          load.mutate {
            $0.now += 1
            $0.most = max($0.most, $0.now)
          }
          for _ in 0..<number % 3 { await Task.yield() }
          load.mutate { $0.now -= 1 }
          return number
        }.run()
      }
      try #require(output == Array(0..<9))
      try #require(load.read(\.most) <= limit, "seed \(seed)")
    }
  }

  @Test func `Without a limit all elements run at once`() async throws {
    let chain = Chain { (count: Int) in 0..<count }.thenMap(maxConcurrent: .max) { $0 + 1 }
    #expect(try await chain.run(3) == [1, 2, 3])
    #expect(try await chain.run(0) == [])
  }

  @Test func `A limit below one counts as one, and no elements give none`() async throws {
    #expect(try await Chain { [1, 2, 3] }.thenMap(maxConcurrent: 0) { $0 + 1 }.run() == [2, 3, 4])
    #expect(try await Chain { [1, 2, 3] }.thenMap(maxConcurrent: -1) { $0 + 1 }.run() == [2, 3, 4])
    #expect(try await Chain { [Int]() }.thenMap(maxConcurrent: 3) { $0 + 1 }.run() == [])
  }

  @Test func `thenMap takes any sequence and optional results`() async throws {
    let chain = Chain { stride(from: 0, to: 6, by: 2) }
      .thenMap(maxConcurrent: 2) { number -> Int? in number == 2 ? nil : number }
    #expect(try await chain.run() == [0, nil, 4])
  }

  @Test func `The first failure cancels the others and awaits them`() async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let ended = Recorder<Int>()
    let chain = Chain { Array(0..<10) }
      .then("before", undo: { _ in log.record("undo") }) { $0 }
      .thenMap(maxConcurrent: 3) { number in
        defer { ended.record(number) }
        if number == 1 {
          await turnstile.visitors(atLeast: 2)
          throw Fault(1)
        }
        do { try await turnstile.pass() } catch {
          log.record("interrupted")
          throw error
        }
        return number
      }
      .onError { log.record("\($0)") }
    await #expect(throws: Fault(1)) { try await chain.run() }
    #expect(log.elements == ["interrupted", "interrupted", "undo", "\(Fault(1))"])
    #expect(ended.elements.sorted() == [0, 1, 2])
  }

  @Test
  func `Cancellation reaches running elements and starts no further one`() async {
    let turnstile = Turnstile()
    let run = Chain { Array(0..<10) }.thenMap(maxConcurrent: 2) { number in
      try? await turnstile.pass()
      return number
    }.start()
    await turnstile.visitors(atLeast: 2)
    run.cancel(reason: "left")
    #expect(await run.outcome.brief == "cancelled left")
    #expect(turnstile.visitorCount == 2)
  }

  @Test func `The value is kept if all elements had begun`() async {
    let turnstile = Turnstile()
    let run = Chain { [1, 2] }.thenMap(maxConcurrent: 2) { number in
      try? await turnstile.pass()
      return number
    }.start()
    await turnstile.visitors(atLeast: 2)
    run.cancel(reason: "left")
    #expect(await run.outcome.brief == "resolved [1, 2]")
  }

  // G166
  @Test(arguments: [1, 3])
  func `Kept failures cancel nothing and undo the element's own steps`(maxConcurrent: Int) async throws {
    let log = Recorder<String>()
    let chain = Chain { Array(0..<6) }
      .then("before", undo: { _ in log.record("undo before") }) { $0 }
      .thenMap("map", maxConcurrent: maxConcurrent, failures: .kept) { number in
        try await step("reserve \(number)") {
          number
        } undo: { number in
          log.record("undo \(number)")
        }
        if number % 2 == 1 { throw Fault(number) }
        try Task.checkCancellation()
        return number * 10
      }
      .onError { log.record("\($0)") }
    let results = try await chain.run()
    #expect(results.map { try? $0.get() } == [0, nil, 20, nil, 40, nil])
    for (number, result) in results.enumerated() where number % 2 == 1 {
      #expect(throws: Fault(number)) { try result.get() }
    }
    #expect(log.elements.sorted() == ["undo 1", "undo 3", "undo 5"])

    let failing = chain.then { _ -> Int in throw Fault(9) }
    await #expect(throws: Fault(9)) { try await failing.start().value }
    // The others are undone with the rest of the run.
    #expect(Set(log.elements.dropFirst(6)) == ["undo 0", "undo 2", "undo 4", "undo before", "\(Fault(9))"])
    #expect(log.elements.count == 3 + 3 + 5)
  }

  // G166
  @Test(arguments: [2, 4]) func `A cancellation of the run is not kept`(count: Int) async {
    let (log, turnstile) = (Recorder<String>(), Turnstile())
    let run = Chain { Array(0..<count) }.thenMap(maxConcurrent: 2, failures: .kept) { number in
      try await step("reserve") {
        number
      } undo: { number in
        log.record("undo \(number)")
      }
      do { try await turnstile.pass() } catch { throw Fault(number) }
    }.start()
    await turnstile.visitors(atLeast: 2)
    run.cancel(reason: "left")
    #expect(await run.outcome.brief.hasPrefix("cancelled left"))
    #expect(log.elements.sorted() == ["undo 0", "undo 1"])
    #expect(turnstile.visitorCount == 2)
  }

  // G166
  @Test func `A CancellationError that nothing requested is a kept failure`() async throws {
    let results = try await Chain { [1, 2] }
      .thenMap(maxConcurrent: 1, failures: .kept) { number in
        if number == 1 { throw CancellationError() }
        return number
      }
      .run()
    #expect(results.map { try? $0.get() } == [nil, 2])
  }

  @Test func `An element that fails completes its share of the progress`() async throws {
    let run = Chain { Array(0..<4) }
      .thenMap(maxConcurrent: 1, failures: .kept) { number in if number < 3 { throw Fault(number) } }
      .start()
    var last = 0.0
    for await progress in run.progress { last = progress.fractionCompleted }
    #expect(last == 1)
    #expect(try await run.value.count { (try? $0.get()) == nil } == 3)
  }
}
