// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StepCallbackTests {
  /// As a data task would: calls back on a thread of its own.
  private static func fetch(_ number: Int, _ completion: @escaping @Sendable (Int?, (any Error)?) -> Void) {
    Thread.detachNewThread {
      completion(number < 0 ? nil : number * 10, number < 0 ? Fault(number) : nil)
    }
  }

  private var fetch: Step<Int, Int> {
    Step.callback("fetch") { (number: Int, resolver: Resolver<Int>) in
      Self.fetch(number) { value, error in resolver.resolve(value, error) }
    }
  }

  @Test func `A callback is a step like any other`() async throws {
    let chain = Chain { (number: Int) in number + 1 }.appending(fetch).then { "\($0)" }
    #expect(try await chain.run(1) == "20")
    #expect(try await chain.start(2).value == "30")
    await #expect(throws: Fault(-2)) { try await chain.run(-3) }
    #expect(fetch.name == "fetch")
    #expect(Step.callback { (_: Int, _: Resolver<Int>) in }.name == nil)
  }

  @Test func `An error of the body is the step's error`() async {
    let chain = Chain(Step.callback { (number: Int, _: Resolver<Int>) in throw Fault(number) })
    await #expect(throws: Fault(7)) { try await chain.run(7) }
  }

  @Test
  func `A callback step runs many times, each with a separate resolver`() async throws {
    let chain = Chain(fetch)
    let values = try await withThrowingTaskGroup { group in
      for number in 0..<100 { group.addTask { try await chain.run(number) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(values.sorted() == (0..<100).map { $0 * 10 })
  }

  // MARK: - Progress

  /// Task-locals do not reach foreign threads: the resolver carries its step there.
  @Test
  func `Reports from other threads appear in the progress of the run`() async throws {
    let resolvers = Recorder<Resolver<Int>>()
    let run = Chain(Step.callback("load") { (_: Int, resolver: Resolver<Int>) in resolvers.record(resolver) }).start(1)
    let resolver = await resolvers.elements(atLeast: 1)[0]
    var progress = run.progress.makeAsyncIterator()
    var seen: [Double] = []
    for fraction in [0.25, 0.5, 0.25, -1, .nan, 7] {
      await onForeignThread { resolver.report(fraction) }
      guard let next = await progress.next(isolation: nil) else { break }
      #expect(next.step == "load")
      seen.append(next.fractionCompleted)
    }
    #expect(seen.first == 0.25)
    #expect(seen.last == 1)
    #expect(seen == seen.sorted())
    #expect(resolver.resolve(7))
    #expect(try await run.value == 7)
    var last: Double?
    while let next = await progress.next(isolation: nil) { last = next.fractionCompleted }
    #expect(last == 1)
  }

  @Test func `A report after the step has ended changes nothing`() async throws {
    let resolvers = Recorder<Resolver<Int>>()
    let gate = Recorder<Int>()
    let entered = Recorder<Int>()
    let run = Chain(
      Step.callback("one") { (number: Int, resolver: Resolver<Int>) in
        resolvers.record(resolver)
        resolver.resolve(number)
      }
    ).then("two") { number in
      entered.record(number)
      await gate.elements(atLeast: 1)
      return number
    }.start(1)
    await entered.elements(atLeast: 1)
    resolvers.elements[0].report(0.1)
    var progress = run.progress.makeAsyncIterator()
    let now = await progress.next(isolation: nil)
    #expect(now?.fractionCompleted == 0.5)
    #expect(now?.step == "two")
    gate.record(1)
    _ = try await run.value
  }

  @Test func `A report without observers has no effect`() async throws {
    let value = try await withResolver { (resolver: Resolver<Int>) in
      resolver.report(0.5)
      resolver.resolve(7)
    }
    #expect(value == 7)
    #expect(try await Chain(fetch).run(1) == 10)
  }
}
