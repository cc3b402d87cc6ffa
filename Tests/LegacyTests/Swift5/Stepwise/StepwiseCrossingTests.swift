// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyStepwise
import StepwiseTesting
import Testing

/// A chain of one world in the other: a file uses one, so the chains stand in two files.
@Suite(.timeLimit(.minutes(5)))
struct StepwiseCrossingTests {
  let seen = Recorder<String>()

  @available(*, deprecated)
  @Test func `An old chain runs as a new one`() async throws {
    let chain = OldChains.characterCount(telling: seen)

    #expect(try await NewChains.run(chain.modern, with: "four") == 4)
    #expect(seen.elements == ["resolved"])
    await #expect(throws: Fault("empty")) { try await NewChains.run(chain.modern, with: "") }
    #expect(seen.elements == ["resolved", "error: empty", "errored"])
  }

  @available(*, deprecated)
  @Test func `Cancelling the new chain cancels the old part`() async throws {
    let handlers = Recorder<Handler<Int>>()
    let chain = OldChains.waiting(telling: seen, handlers: handlers).modern
    let reason = await NewChains.cancel(chain, after: seen) { handlers.elements.first?.pass(1) }
    #expect(reason == "left the screen")
    #expect(seen.elements == ["begun", "canceled: left the screen"])
  }

  @available(*, deprecated)
  @Test func `An old token ends the old part`() async throws {
    let chain = OldChains.waiting(telling: seen)
    chain.cancellationToken.cancel(reason: "old")
    await #expect(throws: CancellationError.self) { try await NewChains.run(chain.modern, with: 1) }
    #expect(seen.elements == ["canceled: old"])
  }

  /// As in the original, which never compared the type of what a chain ends with.
  @available(*, deprecated)
  @Test func `A step may continue with a chain whose output can be cast`() async throws {
    #expect(
      try await NewChains.run(OldChains.optionalCount(continuingWith: OldChains.double()).modern, with: "four") == 8
    )
    let text = OldChains.optionalCount(continuingWith: OldChains.text()).modern
    let error = await #expect(throws: (any Error).self) { try await NewChains.run(text, with: "four") }
    #expect(error.map { "\($0)" }?.contains("a chain whose output is String, in a chain whose output is") == true)
  }

  @available(*, deprecated)
  @Test func `A new chain is a step of an old one`() async {
    OldChains.printLength(of: NewChains.characterCount(telling: seen).legacy, telling: seen).start("four")

    #expect(await seen.elements(atLeast: 3) == ["new finally", "4", "old finally: true"])
  }

  @available(*, deprecated)
  @Test func `Cancelling the old chain cancels the new part`() async {
    let chain = OldChains.printLength(of: NewChains.endless(telling: seen).legacy, telling: seen)
    chain.start("four")
    await seen.elements(atLeast: 1)
    chain.cancellationToken.cancel(reason: "old")

    #expect(await seen.elements(atLeast: 3) == ["begun", "new finally: old", "old finally: false"])
  }
}
