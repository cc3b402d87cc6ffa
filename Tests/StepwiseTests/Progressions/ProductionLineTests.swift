// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ProductionLineTests {
  private func work(_ number: Int, _ body: @escaping @Sendable (Int) async throws -> Void = { _ in }) -> Scripted {
    Scripted(number: number, last: number + 1, work: body)
  }

  @Test func `Results come with the progression as it was added`() async {
    let line = ProductionLine<Scripted>(maxConcurrent: 2)
    for number in 0..<10 {
      line.add(work(number) { if $0 == 4 { throw Fault(4) } })
    }
    line.finish()
    var results: [Int: Int] = [:]
    for await (progression, result) in line.results {
      switch result {
      case .success(let value): results[progression.number] = value
      case .failure(let error): #expect(error as? Fault == Fault(4) && progression.number == 4)
      }
    }
    #expect(results.count == 9)
    for (number, value) in results { #expect(value == number + 1) }
  }

  // G99
  @Test func `No more than the limit run at once, in order`() async {
    let (entered, gate) = (Recorder<Int>(), Once<Void>())
    let line = ProductionLine<Scripted>(maxConcurrent: 3)
    for number in 0..<6 {
      line.add(
        work(number) {
          entered.record($0)
          await gate.valueIgnoringCancellation()
        }
      )
    }
    line.finish()
    #expect(await entered.elements(atLeast: 3).sorted() == [0, 1, 2])
    gate.settle(())
    var count = 0
    for await _ in line.results { count += 1 }
    #expect(count == 6)
  }

  // G99
  @Test func `A full buffer pauses the line`() async {
    let entered = Recorder<Int>()
    let line = ProductionLine<Scripted>(maxConcurrent: 1)
    for number in 0..<4 { line.add(work(number) { entered.record($0) }) }
    var results = line.results.makeAsyncIterator()
    for number in 0..<4 {
      await entered.elements(atLeast: number + 1)
      // One waits to be taken: nothing further has begun.
      #expect(entered.elements == Array(0...number))
      #expect(await results.next()?.progression.number == number)
    }
  }

  // G100
  @Test func `add does not wait`() async {
    let gate = Once<Void>()
    let line = ProductionLine<Scripted>(maxConcurrent: 1)
    let hold: @Sendable (Int) async -> Void = { _ in await gate.valueIgnoringCancellation() }
    for number in 0..<1_000 { #expect(line.add(work(number, hold))) }
    gate.settle(())
    var results = line.results.makeAsyncIterator()
    #expect(await results.next()?.progression.number == 0)
  }

  // G100
  @Test func `suspend begins nothing new and resume continues`() async {
    let (entered, gate) = (Recorder<Int>(), Once<Void>())
    let line = ProductionLine<Scripted>(maxConcurrent: 1)
    line.add(
      work(0) {
        entered.record($0)
        await gate.valueIgnoringCancellation()
      }
    )
    await entered.elements(atLeast: 1)
    line.suspend()
    line.add(work(1) { entered.record($0) })
    gate.settle(())
    var results = line.results.makeAsyncIterator()
    // A running progression completes.
    #expect(await results.next()?.progression.number == 0)
    #expect(entered.elements == [0])
    line.resume()
    #expect(await results.next()?.progression.number == 1)
  }

  @Test func `clearPending drops work that has not begun`() async {
    let (entered, gate) = (Recorder<Int>(), Once<Void>())
    let line = ProductionLine<Scripted>(maxConcurrent: 1)
    for number in 0..<3 {
      line.add(
        work(number) {
          entered.record($0)
          await gate.valueIgnoringCancellation()
        }
      )
    }
    await entered.elements(atLeast: 1)
    #expect(line.clearPending().map(\.number) == [1, 2])
    line.finish()
    gate.settle(())
    var taken: [Int] = []
    for await (progression, _) in line.results { taken.append(progression.number) }
    #expect(taken == [0])
    #expect(entered.elements == [0])
  }

  // G100
  @Test func `finish ends the results and refuses more work`() async {
    let line = ProductionLine<Scripted>(maxConcurrent: 1)
    let task = Task { [results = line.results] in
      var count = 0
      for await _ in results { count += 1 }
      return count
    }
    line.add(work(0))
    line.finish()
    #expect(!line.add(work(1)))
    #expect(await task.value == 1)
    for await _ in line.results { Issue.record("a result after the end") }
  }

  @Test func `Releasing the line finishes it`() async {
    var line: ProductionLine<Scripted>? = ProductionLine(maxConcurrent: 1)
    let results = line?.results
    for number in 0..<3 { line?.add(work(number)) }
    line = nil
    var count = 0
    if let results { for await _ in results { count += 1 } }
    #expect(count == 3)
  }

  @Test func `Releasing a suspended line resumes it`() async {
    var line: ProductionLine<Scripted>? = ProductionLine(maxConcurrent: 1)
    let results = line?.results
    line?.suspend()
    for number in 0..<3 { line?.add(work(number)) }
    line = nil
    var count = 0
    if let results { for await _ in results { count += 1 } }
    #expect(count == 3)
  }

  @Test func `Abandoned work is released`() async {
    let tracker = LifetimeTracker()
    do {
      let line = ProductionLine<Scripted>(maxConcurrent: 2)
      for number in 0..<10 {
        let tracked = tracker.track()
        line.add(work(number) { _ in _ = tracked })
      }
    }
    await tracker.allReleased()
  }

  @Test func `A cancelled consumer leaves the line alone`() async {
    let line = ProductionLine<Scripted>(maxConcurrent: 1)
    let task = Task { [results = line.results] in
      var count = 0
      for await _ in results { count += 1 }
      return count
    }
    task.cancel()
    #expect(await task.value == 0)
    line.add(work(7))
    line.finish()
    var taken: [Int] = []
    for await (progression, _) in line.results { taken.append(progression.number) }
    #expect(taken == [7])
  }

  @Test func `A hundred thousand progressions pass through a line`() async {
    let line = ProductionLine<Scripted>(maxConcurrent: 4)
    for number in 0..<100_000 { line.add(work(number)) }
    line.finish()
    var sum = 0
    for await (progression, result) in line.results { sum += ((try? result.get()) ?? 0) - progression.number }
    #expect(sum == 100_000)
  }
}
