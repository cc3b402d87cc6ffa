// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ChainRunTests {
  // G1
  @Test func `Steps run in order, each on the previous output`() async throws {
    let chain = Chain("length") { (text: String) in text.count }
      .then("double") { $0 * 2 }
      .then { "\($0)" }
    #expect(try await chain.run("four") == "8")
    #expect(try await chain.start("four").value == "8")
  }

  @Test func `An error is thrown as it is and later steps do not run`() async {
    let later = Recorder<Int>()
    let handled = Recorder<String>()
    let chain = Chain { (number: Int) -> Int in throw Fault(number) }
      .then { number in
        later.record(number)
        return number
      }
      .onError { error in handled.record("\(error)") }
      .finally { state in handled.record("finally \(state)") }
    await #expect(throws: Fault(7)) { try await chain.run(7) }
    #expect(later.elements.isEmpty)
    #expect(handled.elements.count == 2)
  }

  @Test func `Optional and existential values are passed on as they are`() async throws {
    let chain = Chain { (_: Int) -> Int?? in .some(nil) }
      .then { value -> (any Error)? in value == .some(nil) ? Fault(1) : nil }
      .then { error in "\(error.map { "\($0)" } ?? "none")" }
    #expect(try await chain.run(0).contains("1"))
    let zipped = Chain.zip(Chain { (_: Int) -> Int? in nil }, Chain { (n: Int) in "\(n)" })
    let (none, text) = try await zipped.run(3)
    #expect(none == nil)
    #expect(text == "3")
  }

  @Test func `Undo runs newest first`() async throws {
    let log = Recorder<String>()
    let chain = Chain { (n: Int) in n }
      .then("a", undo: { n in log.record("undo a \(n)") }) { n in n + 1 }
      .then(
        "b",
        undo: { n in
          log.record("undo b \(n)"); throw Fault(9)
        }
      ) { n in n + 1 }
      .then { _ -> Int in throw Fault(1) }
      .onError { log.record("\($0)") }
    let run = chain.start(0)
    await #expect(throws: Fault(1)) { try await run.value }
    #expect(log.elements == ["undo b 2", "undo a 1", "Fault(number: 1)", "b could not be undone: Fault(number: 9)"])
    #expect(run.undoErrors.count == 1)
  }

  // G25
  @Test func `A cancelled run has its reason`() async throws {
    let states = Recorder<String>()
    let entered = Recorder<Int>()
    let chain = Chain { (n: Int) in
      entered.record(n)
      return try await withResolver { (resolver: Resolver<Int>) in
        resolver.onCancel { reason in
          states.record("onCancel \(reason ?? "-")"); _ = resolver
        }
      }
    }
    .finally { states.record("\($0)") }
    let run = chain.start(0)
    await entered.elements(atLeast: 1)
    #expect(run.cancel(reason: "left"))
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(states.elements.count == 2)
    #expect(states.elements.first == "onCancel left")
  }

  @Test func `A run has events`() async throws {
    let chain = Chain("one") { (n: Int) in n }.then("two") { $0 }
    let run = chain.start(1)
    var seen: [String] = []
    for await event in run.events { seen.append("\(event)") }
    #expect(seen.count == 6)
    var fractions: [Double] = []
    for await progress in run.progress { fractions.append(progress.fractionCompleted) }
    #expect(fractions == [1])
  }
}
