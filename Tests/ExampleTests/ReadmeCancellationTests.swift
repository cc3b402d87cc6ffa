// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ReadmeCancellationTests {
  @Test func `A run is cancelled through its handle`() async throws {
    let printed = Recorder<String>()
    let print = Printer(printed: printed)
    let endless = Endless()
    let search = Chain("search") { (text: String) in try await endless(text) }

    let run = search.start("swift")
    run.cancel(reason: "the screen was closed")

    switch await run.outcome {
    case .resolved(let hits): print("found", hits)
    case .failed(let error): print("failed", error)
    case .cancelled(let cancellation): print("cancelled:", cancellation.reason ?? "no reason")
    }

    #expect(printed.elements == ["cancelled: the screen was closed"])
    #expect(!run.cancel())
  }

  @Test func `A token cancels everything that runs under it`() async throws {
    let endless = Endless()
    let states = Recorder<String?>()
    let loadPage = Chain("load") { (name: String) in try await endless(name) }
      .finally { state in
        if case .cancelled(let cancellation) = state { states.record(cancellation.reason) }
      }
    let session = CancellationToken()
    let work = Task {
      let screen = CancellationToken(linkedTo: session)
      try await withCancellation(by: screen) {
        try await loadPage.run("home")
      }
    }
    await endless.begun.elements(atLeast: 1)

    session.cancel(reason: "signed out")

    await #expect(throws: CancellationError.self) { try await work.value }
    #expect(states.elements == ["signed out"])
  }

  @Test func `A token serves code that only checks tokens`() async throws {
    let importRows: @Sendable ([Int], CancellationToken) throws -> Int = { rows, token in
      try rows.reduce(0) { sum, row in
        try token.checkCancellation()
        return sum + row
      }
    }

    let sum = try await withCancellationToken { token in
      try importRows([1, 2, 3], token)
    }

    #expect(sum == 6)
  }

  @Test func `A handler is registered and removed`() {
    let reasons = Recorder<String?>()
    let token = CancellationToken()

    let registration = token.onCancel { reason in reasons.record(reason) }
    token.cancel(reason: "enough")
    registration.remove()

    #expect(reasons.elements == ["enough"])
    #expect(token.isCancelled)
    #expect(token.reason == "enough")
  }

  @Test func `A chain cancels its runs and can be used again`() async throws {
    let endless = Endless()
    let sync = Chain("sync") { (name: String) in try await endless(name) }
    let run = sync.start("first")
    await endless.begun.elements(atLeast: 1)

    sync.cancelRuns(reason: "offline")
    await sync.waitUntilIdle()

    #expect(run.isFinished)
    #expect(sync.runsInFlight == 0)
    let next = sync.start("second")
    await endless.begun.elements(atLeast: 2)
    #expect(next.cancel())
  }
}
