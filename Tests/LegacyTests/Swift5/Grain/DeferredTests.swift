// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyGrain
import StepwiseTesting
import Testing

/// `Deferred`, with all its members and operators.
@Suite(.timeLimit(.minutes(5)))
struct DeferredTests {
  let seen = Recorder<String>()

  /// Performs something and waits for what came of it, as a text.
  @available(*, deprecated)
  func text<Result>(of deferred: Deferred<Result>) async -> String {
    let ends = Recorder<String>()
    deferred.perform { useResult in
      do { ends.record("\(try useResult())") } catch { ends.record("error: \(error)") }
    }
    return await ends.elements(atLeast: 1).joined(separator: ", ")
  }

  @available(*, deprecated)
  func later(_ number: Int) -> Deferred<Int> {
    Deferred.future { resolve in
      DispatchQueue.global().async { resolve { number } }
    }
  }

  @available(*, deprecated)
  @Test func `Units and futures give their result or throw`() async {
    #expect(await text(of: Deferred.unit { 1 }) == "1")
    #expect(await text(of: Deferred(running: { 1 })) == "1")
    #expect(await text(of: Deferred { 1 }) == "1")
    #expect(await text(of: Deferred<Int> { throw Fault("no") }) == "error: no")
    #expect(await text(of: Deferred<Int>(throwing: Fault("no"))) == "error: no")
    #expect(await text(of: later(1)) == "1")
    #expect(await text(of: Deferred<Int>.future { resolve in resolve { throw Fault("no") } }) == "error: no")
  }

  @available(*, deprecated)
  @Test func `Performing a unit calls it immediately`() {
    Deferred { seen.record("unit") }.perform { useResult in
      try? useResult()
      seen.record("handler")
    }
    #expect(seen.elements == ["unit", "handler"])
  }

  @available(*, deprecated)
  @Test func `The first call of resolve counts`() async {
    let twice = Deferred<Int>.future { resolve in
      resolve { 1 }
      resolve { 2 }
    }
    #expect(await text(of: twice) == "1")
  }

  @available(*, deprecated)
  @Test func `The handler of an abandoned future is called in its queue`() async {
    let abandoned = Deferred<Int>.future { _ in } + NamedQueue.make("handlers")
    abandoned.perform { useResult in
      do { seen.record("\(try useResult())") } catch { seen.record(NamedQueue.current) }
    }
    #expect(await seen.elements(atLeast: 1) == ["handlers"])
  }

  @available(*, deprecated)
  @Test func `Results are transformed`() async {
    #expect(await text(of: Deferred { 1 }.map { $0 + 1 }) == "2")
    #expect(await text(of: later(1).map { "\($0) later" }) == "1 later")
    #expect(await text(of: later(1).map { _ -> Int in throw Fault("no") }) == "error: no")
    #expect(await text(of: Deferred<Int>(throwing: Fault("no")).map { $0 + 1 }) == "error: no")
    #expect(await text(of: later(1).ignoringResult()) == "()")
  }

  @available(*, deprecated)
  @Test func `A deferred value follows another`() async {
    #expect(await text(of: later(1).flatMap { useNumber in later(try useNumber() + 1) }) == "2")
    #expect(await text(of: later(1).flatMap { _ -> Deferred<Int> in throw Fault("no") }) == "error: no")
    let failing = Deferred<Int>(throwing: Fault("no"))
    #expect(await text(of: failing.flatMap { useNumber in later(try useNumber()) }) == "error: no")
    let recovered = failing.flatMap { useResult in
      later((try? useResult()) ?? 7)
    }
    #expect(await text(of: recovered) == "7")
  }

  @available(*, deprecated)
  @Test func `The operator performs`() async {
    later(1) >>= { useResult in seen.record("\((try? useResult()) ?? 0)") }
    #expect(await seen.elements(atLeast: 1) == ["1"])
  }

  @available(*, deprecated)
  @Test func `The operator lets one follow the other`() async {
    #expect(await text(of: later(1) >>= { useNumber in later(try useNumber() + 1) }) == "2")
    let recovered: Deferred<Int> =
      Deferred<Int>(throwing: Fault("no")) >>= { useResult in
        later((try? useResult()) ?? 7)
      }
    #expect(await text(of: recovered) == "7")
  }

  @available(*, deprecated)
  @Test func `Functions run in their queue`() async {
    let key = DispatchSpecificKey<String>()
    let queue = DispatchQueue(label: "queue")
    queue.setSpecific(key: key, value: "queue")
    let here: @Sendable () -> String = { DispatchQueue.getSpecific(key: key) ?? "none" }

    #expect(await text(of: Deferred { here() } + queue) == "queue")
    let handedOn = Recorder<String>()
    (later(1) + queue) >>= { useResult in handedOn.record("\((try? useResult()) ?? 0) \(here())") }
    #expect(await handedOn.elements(atLeast: 1) == ["1 queue"])
  }

  @available(*, deprecated)
  @Test func `Handlers run in their queue`() async {
    let key = DispatchSpecificKey<String>()
    DispatchQueue.main.setSpecific(key: key, value: "main")
    let here: @Sendable () -> String = { DispatchQueue.getSpecific(key: key) ?? "none" }
    later(1) >>= .main + { [seen] useResult in seen.record("\((try? useResult()) ?? 0) \(here())") }
    await seen.elements(atLeast: 1)
    later(2) >>= .utility + { [seen] useResult in seen.record("\((try? useResult()) ?? 0) \(here())") }
    await seen.elements(atLeast: 2)
    (Deferred { here() } + .utility) >>= { [seen] useResult in seen.record((try? useResult()) ?? "") }
    #expect(await seen.elements(atLeast: 3) == ["1 main", "2 none", "none"])
  }

  @available(*, deprecated)
  @Test func `A value without a result is not part of a pair`() async {
    let nothing = Deferred<Void> { [seen] in seen.record("nothing") }
    #expect(await text(of: later(1) & nothing) == "1")
    #expect(await text(of: nothing & later(2)) == "2")
    #expect(await text(of: nothing & nothing) == "()")
    #expect(seen.elements.count == 4)
    #expect(await text(of: nothing & Deferred<Void>(throwing: Fault("no"))) == "error: no")
    #expect(await text(of: Deferred<Int>(throwing: Fault("no")) & nothing) == "error: no")
    #expect(seen.elements.count == 5)
  }

  @available(*, deprecated)
  @Test func `Both parts of a pair are performed one after the other`() async {
    let first = Deferred<Int>.future { [seen] resolve in
      seen.record("first")
      resolve { 1 }
    }
    let second = Deferred<String> { [seen] in
      seen.record("second")
      return "two"
    }
    #expect(await text(of: first & second) == #"(1, "two")"#)
    #expect(seen.elements == ["first", "second"])
    #expect(await text(of: Deferred<Int>(throwing: Fault("no")) & second) == "error: no")
    #expect(seen.elements == ["first", "second"])
  }

  // All of them in one turn of the queue, as the original did.
  @available(*, deprecated)
  @Test func `Functions are called in a turn of the queue`() async {
    let queue = DispatchQueue(label: "queue")
    let functions = (1...30).map { number in { () -> Int in number * 2 } }
    (functions / queue).perform { useResult in seen.record("\((try? useResult().count) ?? 0)") }
    #expect(queue.sync { seen.elements } == ["30"])
    #expect(await text(of: functions.prefix(3).map(\.self) / queue) == "[2, 4, 6]")
    let failing: [() throws -> Int] = [{ 1 }, { throw Fault("no") }]
    #expect(await text(of: failing / DispatchQueue.global()) == "error: no")
    #expect(await text(of: [() -> Int]() / DispatchQueue.global()) == "[]")
  }
}
