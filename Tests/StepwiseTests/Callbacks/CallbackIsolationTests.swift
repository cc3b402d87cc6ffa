// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// `withResolver` and `start { }` from plain async code, an actor, and a class on the main actor.
@Suite(.timeLimit(.minutes(5)))
struct CallbackIsolationTests {
  @Test func `In plain async code, the body may capture anything`() async throws {
    let lineLog = LineLog()
    var count = 0
    let value = try await withResolver { (resolver: Resolver<Int>) in
      lineLog.write("body")
      await Task.yield()
      count += 1
      Thread.detachNewThread { resolver.resolve(7) }
    }
    #expect(value == 7)
    #expect(count == 1)
    #expect(lineLog.lines == ["body"])
  }

  @MainActor
  private final class Screen {
    let lineLog = LineLog()
    var count = 0
    var lines: [String] { lineLog.lines }

    func load() async throws -> Int {
      var local = 0
      let value = try await withResolver { (resolver: Resolver<Int>) in
        MainActor.assertIsolated()
        lineLog.write("body")
        count += 1
        await Task.yield()
        MainActor.assertIsolated()
        local += 1
        Thread.detachNewThread { resolver.resolve(7) }
      }
      MainActor.assertIsolated()
      return value + local + count
    }

    /// A plain chain's completion, back on the main actor, where it may use the screen.
    func start(_ chain: Chain<Int, Int>, log: Recorder<String>) {
      chain.start(1) { @MainActor [self] (result: Result<Int, any Error>) in
        MainActor.assertIsolated()
        lineLog.write("\(result)")
        count += 1
        log.record("called \(count)")
      }
    }

    /// A closure without isolation has to hop to the actor to reach the screen.
    func startPlain(_ chain: Chain<Int, Int>, log: Recorder<String>) {
      chain.start(1) { result in
        let count = await self.increment()
        log.record("plain \(count)")
      }
    }

    func increment() -> Int {
      count += 1
      return count
    }
  }

  @Test func `On the main actor, the body runs there`() async throws {
    let screen = await Screen()
    #expect(try await screen.load() == 9)
    #expect(await screen.lines == ["body"])
  }

  @Test func `A completion on the main actor runs there`() async {
    let log = Recorder<String>()
    let screen = await Screen()
    await screen.start(Chain { $0 + 1 }, log: log)
    await log.elements(atLeast: 1)
    await screen.startPlain(Chain { $0 + 1 }, log: log)
    #expect(await log.elements(atLeast: 2) == ["called 1", "plain 2"])
    #expect(await screen.lines == ["success(2)"])
  }

  private actor Account {
    let lineLog = LineLog()
    var balance = 0
    var lines: [String] { lineLog.lines }

    func load() async throws -> Int {
      let value = try await withResolver { (resolver: Resolver<Int>) in
        assertIsolated()
        lineLog.write("body")
        balance += 1
        await Task.yield()
        assertIsolated()
        Thread.detachNewThread { resolver.resolve(7) }
      }
      assertIsolated()
      return value + balance
    }

    func locals() async throws -> [String] {
      let local = LineLog()
      var count = 0
      let value = try await withResolver { (resolver: Resolver<Int>) in
        local.write("body")
        count += 1
        resolver.resolve(7)
      }
      local.write("\(value) \(count)")
      return local.lines
    }

    func start(_ chain: Chain<Int, Int>, log: Recorder<String>) {
      chain.start(1) { [weak self] result in
        await self?.receive(result)
        log.record("called")
      }
    }

    private func receive(_ result: Result<Int, any Error>) { lineLog.write("\(result)") }
  }

  @Test func `In an actor, the body runs there`() async throws {
    let account = Account()
    #expect(try await account.load() == 8)
    #expect(try await account.locals() == ["body", "7 1"])
    let log = Recorder<String>()
    await account.start(Chain { $0 + 1 }, log: log)
    await log.elements(atLeast: 1)
    #expect(await account.lines == ["body", "success(2)"])
  }

  /// The body of a step runs off the caller's actor, unless it is bound to one itself.
  @Test @MainActor func `The body of a step runs where it says`() async throws {
    let log = Recorder<String>()
    let chain = Chain(
      Step.callback { @MainActor (number: Int, resolver: Resolver<Int>) in
        MainActor.assertIsolated()
        log.record("main")
        resolver.resolve(number)
      }
    ).appending(
      Step.callback { (number: Int, resolver: Resolver<Int>) in
        let isolation = #isolation
        log.record(isolation == nil ? "nowhere" : "somewhere")
        resolver.resolve(number)
      }
    )
    #expect(try await chain.run(7) == 7)
    #expect(log.elements == ["main", "nowhere"])
  }
}
