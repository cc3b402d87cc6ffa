// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

private func double(_ number: Int) -> Int { number * 2 }
private func describe(_ number: Int) async throws -> String { "<\(number)>" }
@MainActor private func onTheMainActor(_ text: String) -> String {
  MainActor.preconditionIsolated()
  return text + "!"
}

/// What may be given to `Chain` and to `then`.
@Suite(.timeLimit(.minutes(5)))
struct OverloadTests {
  private actor Counter {
    private(set) var sum = 0
    func add(_ number: Int) -> Int {
      sum += number
      return sum
    }
  }

  private struct Wrapper: Sendable, Equatable {
    let number: Int
    init(_ number: Int) { self.number = number }
  }

  private struct Unwrapper: Sendable {
    func unwrap(_ wrapper: Wrapper) throws -> Int { wrapper.number }
  }

  @Test func `Closures of every kind fit`() async throws {
    let counter = Counter()
    let chain = Chain { (number: Int) in number + 1 }
      .then { $0 + 1 }
      .then { number async in number + 1 }
      .then { number throws in number + 1 }
      .then { number async throws -> Int in number + 1 }
      .then { @MainActor number in
        MainActor.preconditionIsolated()
        return number + 1
      }
      .then { @MainActor number async throws -> Int in number + 1 }
      .then { number in await counter.add(number) }
    #expect(try await chain.run(0) == 7)
    #expect(await counter.sum == 7)
  }

  /// It compiles: where a second overload of `then` fits each closure, the type checker gives up.
  @Test func `Closures without types fit in a long chain`() async throws {
    let chain = Chain { (number: Int) in number + 1 }
      .then("first") { $0 + 1 }
      .then("second") { $0 + 1 }
      .then("third") { $0 + 1 }
      .then("fourth") { $0 + 1 }
      .then("fifth") { $0 + 1 }
      .then { $0 + 1 }
      .then { $0 + 1 }
      .then { "\($0)" }
      .then { $0.count }
    #expect(try await chain.run(93) == 3)
  }

  /// An initialiser or a static method needs a closure around it: the 6.3 compiler crashes when it is to convert a bare
  /// reference to one into a `nonisolated(nonsending)` function.
  @Test func `Functions of every kind fit`() async throws {
    @Sendable func local(_ number: Int) -> Int { number + 1 }
    @Sendable func localAsync(_ number: Int) async throws -> Int { number + 1 }
    let chain = Chain(double)
      .then(local)
      .then(localAsync)
      .then { Wrapper($0) }
      .then(Unwrapper().unwrap)
      .then(\.magnitude)
      .then { Int($0) }
      .then(describe)
      .then(onTheMainActor)
      .then("named", onTheMainActor)
    #expect(try await chain.run(2) == "<6>!!")
  }

  @Test func `Steps compose`() async throws {
    let increment = Step("increment") { (number: Int) in number + 1 }
    let text = Step { (number: Int) async throws -> String in "\(number)" }
    let wrap = Step(double)
    #expect(increment.name == "increment")
    #expect(text.name == nil)
    let chain = Chain(increment).appending(increment).appending(wrap).appending(text)
    #expect(try await chain.run(0) == "4")
  }

  @Test func `Chains compose`() async throws {
    let inner = Chain("inner") { (number: Int) in number + 1 }.then { "\($0)" }
    let chain = Chain(double).appending(inner).appending(Chain { (text: String) in text.count })
    #expect(try await chain.run(50) == 3)
  }

  @Test func `Names are optional and appear in events`() async throws {
    let inner = Chain("inner") { (number: Int) in number }.then(double)
    let run = Chain("first") { (number: Int) in number }
      .then { $0 }
      .then("third", double)
      .appending(Step("fourth", double))
      .then("fifth", undo: { _ in }) { $0 }
      .then(undo: { _ in }) { $0 }
      .appending(inner)
      .start(1)
    let begun = await briefEvents(of: run).filter { $0.hasPrefix("begin") }
    #expect(
      begun == [
        "begin first", "begin step 1", "begin third", "begin fourth", "begin fifth", "begin step 5", "begin inner",
        "begin step 7",
      ]
    )
  }

  @Test func `Chains of Void have run and start without an argument`() async throws {
    let results = Recorder<String>()
    let chain = Chain { 7 }.then { $0 + 1 }
    #expect(try await chain.run() == 8)
    #expect(try await chain.start().value == 8)
    chain.start { result in results.record(result.brief) }
    #expect(await results.elements(atLeast: 1) == ["success 8"])
    #expect(try await Chain("named") { 7 }.run() == 7)
    #expect(try await chain.run(()) == 8)
  }

  @Test func `Steps may pass Void`() async throws {
    let seen = Recorder<Int>()
    let chain = Chain { (number: Int) in seen.record(number) }
      .then { seen.record(2) }
      .then { _ in 3 }
      .then { seen.record($0) }
    try await chain.run(1)
    #expect(seen.elements == [1, 2, 3])
  }

  /// Values are handed on unboxed in memory that steps share: none may be lost, doubled, or taken for another type.
  @Test func `Values of all sizes are passed on and released`() async throws {
    struct Large: Sendable { var rows = InlineRow(), object: LifetimeTracker.Tracked }
    struct InlineRow: Sendable { var a = SIMD16<Double>(repeating: 1), b = SIMD16<Double>(repeating: 2) }
    let tracker = LifetimeTracker()
    let chain = Chain { (fails: Bool) in (fails, tracker.track()) }
      .then { fails, object in (fails, Large(object: object)) }
      .then { fails, large in
        guard !fails else { throw Fault(1) }
        return (large.rows.a.sum() + large.rows.b.sum(), large.object)
      }
      .then { sum, object -> Double? in withExtendedLifetime(object) { sum } }
    #expect(try await chain.run(false) == 48)
    await #expect(throws: Fault(1)) { try await chain.run(true) }
    await tracker.allReleased()
    #expect(tracker.alive == 0)
    #expect(tracker.made == 2)
  }

  @Test func `An unused value is released with the run`() async {
    let tracker = LifetimeTracker()
    let chain = Chain { () in
      withUnsafeCurrentTask { $0?.cancel() }
      return tracker.track()
    }
    .then { object in withExtendedLifetime(object) { 1 } }
    let ended = await Task { await resultOf { try await chain.run() } }.value
    #expect(ended.brief == "failure CancellationError()")
    #expect(tracker.made == 1)
    #expect(tracker.alive == 0)
  }

  // G5
  @Test func `Modifiers return new chains and leave the old one unchanged`() async throws {
    let log = Recorder<String>()
    let base = Chain { (number: Int) -> Int in
      if number < 0 { throw Fault(number) }
      return number
    }
    let derived = base.then(double).recover { _ in 0 }.onError { _ in log.record("error") }
      .finally { _ in log.record("finally") }
    let other = base.then { "\($0)" }
    #expect(try await base.run(2) == 2)
    #expect(try await other.run(2) == "2")
    await #expect(throws: Fault(-1)) { try await base.run(-1) }
    #expect(log.elements.isEmpty)
    #expect(try await derived.run(2) == 4)
    #expect(try await derived.run(-1) == 0)
    #expect(log.elements == ["finally", "finally"])
  }

  @Test func `A chain is reusable`() async throws {
    let chain = Chain(double).then(double)
    for number in 0..<100 { #expect(try await chain.run(number) == number * 4) }
    let runs = (0..<100).map { chain.start($0) }
    for (number, run) in runs.enumerated() { #expect(try await run.value == number * 4) }
  }
}
