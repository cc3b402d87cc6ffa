// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StagesTests {
  // G90
  @Test func `The first stage is included and the last ends the sequence`() async throws {
    var seen: [Countdown] = []
    for try await stage in Countdown.at(2).stages { seen.append(stage) }
    #expect(seen == [.at(2), .at(1), .at(0), .landed("landed")])
  }

  @Test func `A stage with a result is the only one`() async throws {
    var seen: [Countdown] = []
    for try await stage in Countdown.landed("here").stages { seen.append(stage) }
    #expect(seen == [.landed("here")])
  }

  // G90
  @Test func `Nothing runs ahead of the consumer`() async throws {
    let log = Recorder<Int>()
    let work = Scripted { log.record($0) }
    var stages = work.stages.makeAsyncIterator()
    #expect(log.elements.isEmpty)
    #expect(try await stages.next()?.number == 0)
    #expect(log.elements.isEmpty)
    #expect(try await stages.next()?.number == 1)
    #expect(log.elements == [0])
    #expect(try await stages.next()?.number == 2)
    #expect(log.elements == [0, 1])
  }

  @Test func `An actor iterates in its isolation, by loop and by hand`() async throws {
    let expected = ["2", "1", "0", "landed"]
    let reader = Reader()
    #expect(try await reader.readWithLoops() == [expected, expected, ["landed"]])
    #expect(try await reader.readByHand() == [expected, expected, ["landed"]])
  }

  // G91
  @Test func `break stops, and the last seen stage can continue`() async throws {
    let log = Recorder<Int>()
    var last = Countdown.at(5)
    try await Countdown.$log.withValue(log) {
      for try await stage in Countdown.at(5).stages {
        last = stage
        if stage == .at(3) { break }
      }
      #expect(log.elements == [5, 4])
      #expect(try await last.run() == "landed")
      #expect(log.elements == [5, 4, 3, 2, 1])
      var rest: [Countdown] = []
      for try await stage in Countdown.at(1).stages { rest.append(stage) }
      #expect(rest == [.at(1), .at(0), .landed("landed")])
    }
  }

  @Test func `Each iterator begins at the first stage`() async throws {
    let stages = Countdown.at(1).stages
    for _ in 0..<2 {
      var count = 0
      for try await _ in stages { count += 1 }
      #expect(count == 3)
    }
  }

  @Test func `An error is thrown as it is and ends the sequence`() async throws {
    let work = Scripted { if $0 == 1 { throw Fault(7) } }
    var stages = work.stages.makeAsyncIterator()
    _ = try await stages.next()
    _ = try await stages.next()
    await #expect(throws: Fault(7)) { try await stages.next() }
    #expect(try await stages.next() == nil)
  }

  // G92
  @Test func `Cancellation is checked before each stage`() async throws {
    let log = Recorder<Int>()
    let task = Task {
      for try await stage in Scripted(work: { log.record($0) }).stages where stage.number == 1 {
        withUnsafeCurrentTask { $0?.cancel() }
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.elements == [0])
  }

  /// What is cancelled before it began does no work.
  @Test func `In a cancelled task, no stage runs`() async throws {
    let log = Recorder<Int>()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await #expect(throws: CancellationError.self) { try await Scripted(work: { log.record($0) }).run() }
      for try await _ in Scripted(work: { log.record($0) }).stages {}
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.elements.isEmpty)
  }

  // G92
  @Test @MainActor func `Stages run off the caller's actor`() async throws {
    let isOnMain = Recorder<Bool>()
    let work = Scripted { _ in isOnMain.record(isOnTheMainQueue()) }
    for try await _ in work.stages { #expect(isOnTheMainQueue()) }
    #expect(try await work.run() == 3)
    #expect(isOnTheMainQueue())
    #expect(isOnMain.elements.count == 6 && !isOnMain.elements.contains(true))
  }

  @Test func `Many stages retain nothing`() async throws {
    var count = 0
    for try await _ in Countdown.at(200_000).stages { count += 1 }
    #expect(count == 200_002)
  }

  @Test func `Values of a stage are released with the next stage`() async throws {
    let tracker = LifetimeTracker()
    for try await stage in Holder(tracker: tracker, tracked: tracker.track()).stages {
      // The first stage stays with the sequence, to begin at again.
      #expect(tracker.alive <= 3, "at \(stage.number)")
    }
    #expect(tracker.made == 101)
    #expect(tracker.alive == 0)
  }

  private struct Holder: Progression {
    var number = 0
    let tracker: LifetimeTracker
    let tracked: LifetimeTracker.Tracked

    func next() async throws -> Holder {
      Holder(number: number + 1, tracker: tracker, tracked: tracker.track())
    }

    var result: Int? { number == 100 ? number : nil }
  }
}

/// Reads the stages, the shared stages and the results of a line.
private actor Reader {
  private let stages = Countdown.at(2).stages
  private var line: ProductionLine<Countdown> {
    let line = ProductionLine<Countdown>(maxConcurrent: 1)
    line.add(.at(2))
    return line
  }
  private var lines: [String] = []

  private func note(_ stage: Countdown) {
    if case .at(let number) = stage { lines.append("\(number)") } else { lines.append("landed") }
  }

  private func takeLines() -> [String] { exchange(&lines, with: []) }

  func readWithLoops() async throws -> [[String]] {
    for try await stage in stages { note(stage) }
    let all = takeLines()
    for try await stage in stages.shared(.everyStage) { note(stage) }
    let shared = takeLines()
    for await (_, result) in line.results { lines.append(try result.get()) }
    return [all, shared, takeLines()]
  }

  func readByHand() async throws -> [[String]] {
    var iterator = stages.makeAsyncIterator()
    while let stage = try await iterator.next() { note(stage) }
    let all = takeLines()
    var shares = stages.shared(.everyStage).makeAsyncIterator()
    while let stage = try await shares.next() { note(stage) }
    let shared = takeLines()
    var results = line.results.makeAsyncIterator()
    while let (_, result) = await results.next(isolation: #isolation) { lines.append(try result.get()) }
    return [all, shared, takeLines()]
  }
}
