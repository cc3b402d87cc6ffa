// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MigrationEndTests {
  let printed = Recorder<String>()

  @Test func onErrorIsGivenAnyError() async {
    let printed = printed
    @Sendable func print(_ text: String) { printed.record(text) }

    let chain = Chain { () -> String in throw Failure("Error in step 1!") }
      .then { text in text.count }
      .onError { error in print("ERROR: \(error)") }
    chain.start()

    #expect(await printed.elements(atLeast: 1) == ["ERROR: Error in step 1!"])
  }

  @Test func aHandlerOfTheOldTypeFits() async {
    let printed = printed
    let handler: StepErrorHandler = { error in printed.record("\(error)") }
    let chain = Chain { () -> Int in throw Failure("no") }.onError(handler)

    await #expect(throws: Failure("no")) { try await chain.run() }
    #expect(printed.elements == ["no"])
  }

  @Test func finallyClosesWhatWasOpened() async throws {
    let stream = OutputStream(toMemory: ())
    let printed = printed
    @Sendable func close() { printed.record("closed") }
    stream.open()

    let chain = Chain { (text: String) in text.utf8.count }
      .finally { _ in close() }

    #expect(try await chain.run("four") == 4)
    #expect(printed.elements == ["closed"])
  }

  @Test func theStateIsMatched() async throws {
    let printed = printed
    @Sendable func print(_ items: Any...) { printed.record(items.map { "\($0)" }.joined(separator: " ")) }

    let chain = Chain { (number: Int) in number * 2 }
      .finally { state in
        switch state {
        case .resolved(let value): print("resolved", value)
        case .failed(let error): print("errored", error)
        case .cancelled(let cancellation): print("canceled", cancellation.reason ?? "")
        }
      }

    #expect(try await chain.run(21) == 42)
    #expect(printed.elements == ["resolved 42"])
  }

  @Test func theOldBoolsAreAnExtension() {
    #expect(ChainState.resolved(1).resolved)
    #expect(ChainState.failed(Failure("no")).errored)
    #expect(ChainState.cancelled(Cancellation()).canceled)
    #expect(!ChainState.resolved(1).canceled)
  }

  @Test func aTokenEndsAChainThatIsMadeForOnePieceOfWork() async throws {
    let chain = Chain { (number: Int) in number }

    let token = chain.cancellationToken
    token.cancel(reason: "Canceling for a really good reason.")

    #expect(token.isCancelled)
    #expect(token.reason == "Canceling for a really good reason.")
    await #expect(throws: CancellationError.self) { try await chain.run(1) }
  }

  @Test func aCancelDuringTheLastStepIsHeeded() async throws {
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

  @Test func theLastFinallyAloneIsOneFinally() async throws {
    let printed = printed
    let chain = Chain { (number: Int) in number }
      .finally { _ in printed.record("first") }
      .finally { _ in printed.record("second") }

    #expect(try await chain.run(1) == 1)
    #expect(printed.elements == ["second", "first"])
  }
}

typealias StepErrorHandler = @Sendable (any Error) -> Void

extension Outcome {
  var resolved: Bool { if case .resolved = self { true } else { false } }
  var errored: Bool { if case .failed = self { true } else { false } }
  var canceled: Bool { if case .cancelled = self { true } else { false } }
}
