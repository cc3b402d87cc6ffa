// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// A step runs where its caller runs, and may use everything that its caller may use; under a time limit it obeys the
/// rules of `Task { }`.
@Suite(.timeLimit(.minutes(5)))
struct StepIsolationTests {
  @MainActor private final class Screen {
    var title = ""
    let notes = LineLog()

    func load(_ limit: Duration?) async throws -> Int {
      var count = 0
      let retry = RetryPolicy(maxAttempts: 3, backoff: .none)
      let page = try await step("load", retry: retry, timeout: limit) {
        MainActor.preconditionIsolated()
        count += 1
        title = "attempt \(count)"
        notes.write(title)
        await Task.yield()
        MainActor.preconditionIsolated()
        if count < 3 { throw Fault(count) }
        return "page \(count)"
      }
      MainActor.preconditionIsolated()
      notes.write(page)
      return count
    }
  }

  private actor Archive {
    let notes = LineLog()

    func load(_ limit: Duration?) async throws -> Int {
      for number in 1...3 {
        try await step("load \(number)", timeout: limit) {
          assertIsolated()
          notes.write("\(number)")
          await Task.yield()
          assertIsolated()
        }
        assertIsolated()
      }
      return notes.lines.count
    }
  }

  // G37, G164
  @Test(arguments: [nil, Duration.seconds(60)], [false, true])
  func `The body runs in the isolation of its caller`(limit: Duration?, inRun: Bool) async throws {
    let screen = await Screen()
    let archive = Archive()
    let work: @Sendable () async throws -> [Int] = {
      try await [screen.load(limit), archive.load(limit)]
    }
    let chain = Chain { () in try await work() }
    let counts = inRun ? try await chain.run() : try await work()
    #expect(counts == [3, 3])
    #expect(await screen.title == "attempt 3")
  }

  // G37
  @Test func `The body may change local variables and use what is not Sendable`() async throws {
    let chain = Chain { (count: Int) in
      let notes = LineLog()
      var sum = 0
      for number in 1...count {
        let kept = try await step("add \(number)") {
          sum += number
          notes.write("\(number)")
          return notes
        }
        kept.write("kept")
      }
      return "\(sum) \(notes.lines.joined(separator: " "))"
    }
    #expect(try await chain.run(3) == "6 1 kept 2 kept 3 kept")
  }

  // G37
  @Test func `Steps run concurrently in async let and task groups`() async throws {
    let chain = Chain { () in
      let both = Turnstile()
      @Sendable func meet(_ name: String) async throws -> String {
        try await step(name) {
          if both.visitorCount == 1 { both.open() }
          try await both.pass()
          return name
        }
      }
      async let first = step("left") { try await meet("inner left") }
      async let second = step("right", timeout: .seconds(60)) { try await meet("inner right") }
      let names = try await [first, second]
      let lengths = try await withThrowingTaskGroup(of: Int.self) { group in
        for name in names { group.addTask { try await step(name) { name.count } } }
        return try await group.reduce(0, +)
      }
      return (names, lengths)
    }
    let (names, lengths) = try await chain.run()
    #expect(names == ["inner left", "inner right"])
    #expect(lengths == 21)
  }

  // G37
  /// A time limit lends the body to a task; the runtime traps when that task keeps it.
  @Test func `Ten thousand time limits retain no body`() async throws {
    let archive = Archive()
    let screen = await Screen()
    let count = scaled(10_000) / 8
    let chain = Chain { () in
      try await withThrowingTaskGroup { group in
        group.addTask { for _ in 0..<count / 3 { _ = try await archive.load(.seconds(60)) } }
        group.addTask { for _ in 0..<count / 3 { _ = try await screen.load(.seconds(60)) } }
        group.addTask {
          for number in 0..<count * 3 {
            let tracker = LifetimeTracker()
            let result = await resultOf {
              let object = tracker.track()
              return try await step("limited", timeout: number.isMultiple(of: 2) ? .zero : .seconds(60)) {
                await Task.yield()
                try Task.checkCancellation()
                return withExtendedLifetime(object) { number }
              }
            }
            if number % 2 == 1 { #expect(result.brief == "success \(number)") }
            #expect(tracker.alive == 0)
          }
        }
        group.addTask {
          for _ in 0..<count {
            let task = Task { try await step("cancelled", timeout: .seconds(60)) { await Task.yield() } }
            task.cancel()
            _ = await task.result
          }
        }
        try await group.waitForAll()
      }
    }
    try await chain.run()
  }
}
