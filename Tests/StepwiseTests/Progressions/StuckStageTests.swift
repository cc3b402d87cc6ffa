// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// A stage that neither advances nor has a result is noticed.
@Suite(.timeLimit(.minutes(5)))
struct StuckStageTests {
  private func repetitions(_ body: () async throws -> Int) async throws -> Int? {
    do {
      _ = try await body()
      return nil
    } catch ProgressionError.stuck(_, let repetitions) {
      return repetitions
    }
  }

  // G72
  @Test func anEquatableStageThatStandsStillIsStuck() async throws {
    let polls = Tally()
    let seen = try await repetitions { try await Poll(polls: polls, enough: .max).run() }
    #expect(seen == 10_000)
    #expect((10_000..<10_100).contains(polls.total), "\(polls.total)")
  }

  @Test(arguments: [1, 2, 100])
  func theCallerSetsTheLimit(limit: Int) async throws {
    let polls = Tally()
    let poll = Poll(polls: polls, enough: .max)
    #expect(try await repetitions { try await poll.run(stuckAfter: limit) } == limit)
    #expect(polls.total == limit)
    var count = 0
    await #expect(throws: ProgressionError.self) {
      for try await _ in poll.stages(stuckAfter: limit) { count += 1 }
    }
    #expect(count == limit)
  }

  @Test func fewerRepetitionsThanTheLimitAreFine() async throws {
    #expect(try await Poll(polls: Tally(), enough: 50).run(stuckAfter: 50) == 50)
    #expect(try await Poll(polls: Tally(), enough: 9_999).run() == 9_999)
  }

  @Test func theLimitCanBeTurnedOff() async throws {
    #expect(try await Poll(polls: Tally(), enough: 30_000).run(stuckAfter: nil) == 30_000)
  }

  @Test func onlyRepetitionsInARowCount() async throws {
    #expect(try await Alternating().run(stuckAfter: 2) == 1_000)
  }

  /// Stands still once at each number.
  private struct Alternating: Progression, Equatable {
    var number = 0
    var visits = Visits()

    func next() async throws -> Alternating {
      visits.total.increment().isMultiple(of: 2) ? Alternating(number: number + 1, visits: visits) : self
    }

    var result: Int? { number == 1_000 ? number : nil }
  }

  private struct Visits: Equatable, Sendable {
    let total = Tally()
    static func == (visits: Visits, other: Visits) -> Bool { true }
  }

  private struct Still: Progression {
    let polls: Tally

    func next() async throws -> Still {
      if polls.increment() == 30_000 { throw Fault() }
      return self
    }

    var result: Int? { nil }
  }

  @Test func stagesThatAreNotEquatableAreFreeUnlessTheCallerSaysSo() async throws {
    await #expect(throws: Fault()) { try await Still(polls: Tally()).run() }
    let polls = Tally()
    #expect(try await repetitions { try await Still(polls: polls).run(stuckAfter: 5) } == 5)
    #expect(polls.total == 5)
  }

  @Test func stagesWithinStagesAreLookedAt() async throws {
    let poll = Poll(polls: Tally(), enough: .max)
    #expect(try await repetitions { try await poll.map { $0 }.run() } == 10_000)
    #expect(try await repetitions { try await poll.flatMap { _ in poll }.run() } == 10_000)
    #expect(try await repetitions { try await Serial([poll, poll]).run().count } == 10_000)
    let started = Recorder<Bool>()
    poll.execute { useResult in
      do { _ = try useResult() } catch { started.record(error is ProgressionError) }
    }
    #expect(await started.elements(atLeast: 1) == [true])
  }

  @Test func theErrorNamesTheStage() async throws {
    let error = try await #require(throws: ProgressionError.self) {
      try await Poll(polls: Tally(), enough: .max).run(stuckAfter: 3)
    }
    #expect("\(error)".contains("Poll(isDone: false"))
    #expect("\(error)".contains("3 times"))
  }
}
