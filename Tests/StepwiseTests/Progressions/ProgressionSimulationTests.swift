// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Shared stages and production lines in 1,000 interleavings each.
@Suite(.timeLimit(.minutes(5)))
struct ProgressionSimulationTests {
  // G97
  @Test func `With every stage, no consumer misses one after its first`() async {
    await forEachSeed { _ in
      let runs = Recorder<Int>()
      let shared = Scripted(last: 6) { number in
        runs.record(number)
        await Task.yield()
      }.stages.shared(.everyStage)
      let seen = try await withThrowingTaskGroup(of: [Int].self) { group in
        for _ in 0..<3 {
          group.addTask {
            await Task.yield()
            return try await shared.numbers { _ in await Task.yield() }
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      for numbers in seen { try require(numbers == Array((numbers.first ?? 9)...6), "\(seen)") }
      try require(runs.elements == Array(0..<6), "\(runs.elements)")
    }
  }

  @Test func `With the latest stage, stages rise to the last`() async {
    await forEachSeed { _ in
      let runs = Recorder<Int>()
      let shared = Scripted(last: 6) { runs.record($0) }.stages.shared(.latest)
      let seen = try await withThrowingTaskGroup(of: [Int].self) { group in
        for patience in 0..<3 {
          group.addTask {
            try await shared.numbers { _ in
              for _ in 0..<patience { await Task.yield() }
            }
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      for numbers in seen { try require(numbers == numbers.sorted() && numbers.last == 6, "\(seen)") }
      try require(runs.elements == Array(0..<6), "\(runs.elements)")
    }
  }

  // G98
  @Test(arguments: [StageSharing.everyStage, .latest])
  func `A cancel at any moment ends one consumer only`(sharing: StageSharing) async {
    await forEachSeed(500) { _ in
      let shared = Scripted(last: 6) { _ in
        await Task.yield()
        try Task.checkCancellation()
      }.stages.shared(sharing)
      let start = Start(of: 2)
      let tasks = (0..<3).map { number in
        spawn { () async -> Result<[Int], any Error> in
          do { return .success(try await shared.numbers(number == 0 ? nil : start)) } catch { return .failure(error) }
        }
      }
      for _ in 0..<4 { await Task.yield() }
      tasks[0].cancel()
      for task in tasks.dropFirst() { try require(try await task.value.get().last == 6, "ended early") }
    }
  }

  // G99
  @Test func `A line keeps its limits and loses nothing`() async {
    await forEachSeed { random in
      var random = random
      let limit = Int.random(in: 1...3, using: &random)
      let running = Watched(Running())
      let line = ProductionLine<Scripted>(maxConcurrent: limit)
      let work = { @Sendable (number: Int) in
        Scripted(number: number, last: number + 1) { _ in
          running.mutate { $0.enter(number) }
          await Task.yield()
          running.mutate { $0.count -= 1 }
          if number == 3 { throw Fault(3) }
        }
      }
      let taken = try await withThrowingTaskGroup(of: [Int].self) { group in
        group.addTask {
          for number in 0..<8 {
            line.add(work(number))
            if number == 4 { line.suspend() }
            await Task.yield()
          }
          line.resume()
          line.finish()
          return []
        }
        group.addTask {
          var taken: [Int] = []
          for await (progression, result) in line.results {
            let expected = try? result.get()
            try require(
              expected == (progression.number == 3 ? nil : progression.last),
              "\(progression.number) \(result)"
            )
            taken.append(progression.number)
            await Task.yield()
          }
          return taken
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      try require(taken.sorted() == Array(0..<8), "\(taken)")
      try require(running.read(\.most) <= limit, "\(running.read(\.most)) at once of \(limit)")
      // Those that run at once may overtake one another.
      if limit == 1 { try require(running.read(\.order) == Array(0..<8), "\(running.read(\.order))") }
    }
  }

  private struct Running: Sendable {
    var count = 0
    var most = 0
    var order: [Int] = []

    mutating func enter(_ number: Int) {
      count += 1
      most = max(most, count)
      order.append(number)
    }
  }
}
