// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// Each piece of new code of Migration.md about how chains end, beside the old code: both do the same.
@Suite(.timeLimit(.minutes(5)))
struct EndPairTests {
  let printed = Recorder<String>()
  /// What the old code has done.
  let old = Recorder<String>()

  @available(*, deprecated)
  @Test func `onError receives any error`() async {
    let printed = printed
    @Sendable func print(_ text: String) { printed.record(text) }

    let chain = Chain { () -> String in throw Failure("Error in step 1!") }
      .then { text in text.count }
      .onError { error in print("ERROR: \(error)") }
    chain.start()

    OldEnds.error(printing: old)
    #expect(await printed.elements(atLeast: 1) == ["ERROR: Error in step 1!"])
    #expect(await old.elements(atLeast: 1) == printed.elements)
  }

  @available(*, deprecated)
  @Test func `A handler of the old type fits`() async {
    let printed = printed
    let handler: StepErrorHandler = { error in printed.record("\(error)") }
    let chain = Chain { () -> Int in throw Failure("no") }.onError(handler)

    OldEnds.named(telling: old)
    await #expect(throws: Failure("no")) { try await chain.run() }
    #expect(printed.elements == ["no"])
    #expect(await old.elements(atLeast: 1) == printed.elements)
  }

  @available(*, deprecated)
  @Test func `finally closes what was opened`() async throws {
    let printed = printed
    @Sendable func close() { printed.record("closed") }

    let chain = Chain { (text: String) in text.utf8.count }
      .finally { _ in close() }

    OldEnds.closing { [old] in old.record("closed") }
    #expect(try await chain.run("four") == 4)
    #expect(printed.elements == ["closed"])
    #expect(await old.elements(atLeast: 1) == printed.elements)
  }

  @available(*, deprecated)
  @Test func `A stream that two closures share is written and closed`() async {
    OldEnds.stream(to: old)
    #expect(await old.elements(atLeast: 2) == ["data", "closed"])
  }

  @available(*, deprecated)
  @Test func `A stream is shared with a step that receives a handler`() async {
    OldEnds.callbackStream(to: old)
    #expect(await old.elements(atLeast: 2) == ["data", "closed"])
  }

  @available(*, deprecated)
  @Test func `Two steps share a closure`() async {
    OldEnds.shared(printing: printed)
    #expect(await printed.elements(atLeast: 2) == ["1", "2"])
  }

  @available(*, deprecated)
  @Test(arguments: End.allCases) func `A state is matched`(end: End) async throws {
    let printed = printed
    @Sendable func print(_ items: Any...) { printed.record(items.map { "\($0)" }.joined(separator: " ")) }
    let doubling = Chain { (number: Int) in
      if end == .failed { throw Failure("no") }
      return number * 2
    }

    let chain =
      doubling
      .finally { state in
        switch state {
        case .resolved(let value): print("resolved", value)
        case .failed(let error): print("errored", error)
        case .cancelled(let cancellation): print("canceled", cancellation.reason ?? "")
        }
      }

    OldEnds.state(after: end, printing: old)
    if end == .cancelled { chain.cancellationToken.cancel(reason: "before") }
    _ = await chain.start(21).outcome
    #expect(printed.elements == [["resolved 42", "errored no", "canceled before"][end.index]])
    #expect(await old.elements(atLeast: 1) == printed.elements)
  }

  @available(*, deprecated)
  @Test(arguments: End.allCases) func `The old Booleans are an extension`(end: End) async {
    let states: [ChainState] = [.resolved(1), .failed(Failure("no")), .cancelled(Cancellation())]
    let state = states[end.index]
    OldEnds.bools(after: end, telling: old)
    #expect(await old.elements(atLeast: 1) == ["\(state.resolved) \(state.errored) \(state.canceled)"])
  }

  @available(*, deprecated)
  @Test func `A token ends a chain made for one piece of work`() async throws {
    let chain = Chain { (number: Int) in number }

    let token = chain.cancellationToken
    token.cancel(reason: "Canceling for a really good reason.")

    #expect(token.isCancelled)
    #expect(token.reason == "Canceling for a really good reason.")
    await #expect(throws: CancellationError.self) { try await chain.run(1) }
    #expect(OldEnds.token(telling: old))
    #expect(await old.elements(atLeast: 1) == ["end"])
  }

  @Test func `A cancel during the last step counts`() async throws {
    let endless = Endless()

    let chain = Chain { (row: Int) in row }
      .then { row in
        try await endless("row \(row)")
        try Task.checkCancellation()
        return row
      }
    let run = chain.start(1)
    await endless.begun.elements(atLeast: 1)
    run.cancel(reason: "closed")

    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("the cancel was lost")
      return
    }
    #expect(cancellation.reason == "closed")
  }

  @available(*, deprecated)
  @Test func `The old last finally becomes one finally`() async throws {
    let printed = printed
    let chain = Chain { (number: Int) in number }
      .finally { _ in printed.record("first") }
      .finally { _ in printed.record("second") }

    OldEnds.twoFinallys(telling: old)
    #expect(try await chain.run(1) == 1)
    #expect(printed.elements == ["second", "first"])
    #expect(await old.elements(atLeast: 1) == ["second"])
  }
}

extension End {
  var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

typealias StepErrorHandler = @Sendable (any Error) -> Void

extension Outcome {
  var resolved: Bool { if case .resolved = self { true } else { false } }
  var errored: Bool { if case .failed = self { true } else { false } }
  var canceled: Bool { if case .cancelled = self { true } else { false } }
}
