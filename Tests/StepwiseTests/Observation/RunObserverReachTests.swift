// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// Observers of a chain, a scope and the process, and the runs that they reach.
@Suite(.timeLimit(.minutes(5)))
struct RunObserverReachTests {
  private let log = ObserverLog()

  /// Ignores the runs of other tests.
  private struct Only: RunObserver {
    let name: String
    let recorder: Recorder<String>
    let label: String

    func runStarted(_ run: ObservedRun) { if run.name == name { recorder.record(label) } }
  }

  @Test
  func `Observers are called in the order process, scope, chain`() async throws {
    let calls = Recorder<String>()
    let observer = { (label: String) in Only(name: "order of observers", recorder: calls, label: label) }
    let chain = Chain {}.named("order of observers").observed(by: observer("chain 1")).observed(by: observer("chain 2"))
    let first = RunObservers.install(observer("process 1"))
    let second = RunObservers.install(observer("process 2"))
    try await withRunObserver(observer("outer scope")) {
      try await withRunObserver(observer("inner scope")) { try await chain.run() }
    }
    #expect(calls.elements == ["process 1", "process 2", "outer scope", "inner scope", "chain 1", "chain 2"])
    first.remove()
    _ = try await chain.run()
    #expect(calls.elements.suffix(3) == ["process 2", "chain 1", "chain 2"])
    second.remove()
    _ = try await chain.run()
    #expect(calls.elements.suffix(2) == ["chain 1", "chain 2"])
    #expect(calls.elements.count == 11)
  }

  @Test func `A scope reaches tasks and started runs after its end`() async throws {
    let turnstile = Turnstile()
    let run = await withRunObserver(log) {
      Chain("outer") {
        await turnstile.passWhateverHappens()
        try await Chain("inner") {}.run()
      }
      .start()
    }
    turnstile.open()
    try await run.value
    #expect(log.lines.contains("run 2 inner started in 1"))
    try await Chain("outside") {}.run()
    #expect(log.lines.count == 8)
  }

  @Test func `Nested chains and branches are runs with a parent`() async throws {
    let inner = Chain("a") { (number: Int) in number }.then("b") { $0 }
    let chain = Chain("first") { (number: Int) in number }.appending(inner.named("nested"))
      .appending(Chain<Int, (Int, Int)>.zip(Chain("left") { $0 }, Chain("right") { $0 }))
      .then { $0.0 + $0.1 }
      .appending(Chain<Int, Int>.race(Chain("fast") { $0 }))
      .named("outer").observed(by: log)
    #expect(try await chain.run(1) == 2)
    let started = log.lines.filter { $0.contains(" started in ") }
    let number = { (name: String) in
      started.first { $0.split(separator: " ")[2...4] == [name[...], "started", "in"] }?.split(separator: " ")[1] ?? "?"
    }
    #expect(started.first == "run 2 nested started in 1")
    // `zip` is itself a chain that is appended; its branches are runs of that one.
    #expect(started.contains("run \(number("left")) left started in 3"))
    #expect(started.contains("run \(number("right")) right started in 3"))
    #expect(log.lines.contains("\(number("left")) left finished"))
    #expect(log.lines.filter { $0.contains(" ended succeeded") }.count == started.count + 1)
    #expect(log.lines.last == "run 1 ended succeeded with Int")
  }

  #if os(Linux) || os(macOS)
    /// In a process without other tests: with an observer of the process, the outer run is observed as well.
    @Test func `An observer of a nested chain receives only that run`() async {
      await #expect(processExitsWith: .success) {
        let log = ObserverLog()
        let inner = Chain("a") { (number: Int) in number }.observed(by: log)
        let chain = Chain("first") { (number: Int) in number }.appending(inner).then("last") { $0 }
        let expected = ["run 1 a started", "1 a started", "1 a finished", "run 1 ended succeeded with Int"]
        _ = try await chain.run(5)
        try #require(log.lines == expected)
        let run = chain.start(5)
        _ = try await run.value
        try #require(log.lines.count == 8)
        try #require(log.lines[5] == "2 a started")
      }
    }
  #endif

  @Test func `A run in a handler has the run of the handler as its parent`() async throws {
    let cleanUp = Chain("clean up") {}
    let chain = Chain("reserve", undo: { _ in try await cleanUp.run() }) {}
      .then("fail") { throw Fault(1) }
      .finally { _ in try? await cleanUp.run() }
    _ = await withRunObserver(log) { await chain.start().outcome }
    #expect(log.lines.filter { $0.hasSuffix("clean up started in 1") }.count == 2)
    #expect(log.lines.last == "run 1 ended failed: Fault(number: 1)")
  }

  @Test func `A job is observed as a run`() async throws {
    let job = Job("import") { (_: Void, _: JobContext<Never>) in 1 }
    try await withRunObserver(log) { _ = try await job.launch(()).value }
    #expect(
      log.lines == [
        "run 1 import started", "1 import started", "1 import finished", "run 1 ended succeeded with Int",
      ]
    )
  }

  @Test func `The losers of a race end cancelled in their runs`() async throws {
    let turnstile = Turnstile()
    let slow = Chain("slow") { (number: Int) in
      turnstile.open()
      try await Turnstile().pass()
      return number
    }
    let fast = Chain("fast") { (number: Int) in
      await turnstile.passWhateverHappens()
      return number
    }
    _ = try await Chain.race(slow, fast).named("race").observed(by: log).run(1)
    let loser = try #require(log.lines.first { $0.contains(" slow started in 1") }).split(separator: " ")[1]
    #expect(log.lines.contains("run \(loser) ended cancelled"))
    #expect(log.lines.last == "run 1 ended succeeded with Int")
  }
}
