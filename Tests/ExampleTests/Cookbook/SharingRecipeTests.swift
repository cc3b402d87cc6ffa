// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// The recipes of the cookbook for callers that share something.
@Suite(.timeLimit(.minutes(5)))
struct SharingRecipeTests {
  let clock = ManualClock()
  let log = Recorder<String>()

  actor Session {
    private let refresh: Chain<Void, String>
    private var refreshing: Run<String>?

    init(_ refresh: Chain<Void, String>) { self.refresh = refresh }

    func token() async throws -> String {
      if let refreshing, !refreshing.isFinished { return try await refreshing.value }
      let run = refresh.start()
      refreshing = run
      return try await run.value
    }
  }

  @Test
  func `Many callers refresh a token once`() async throws {
    let (log, open) = (log, CancellationToken())
    let session = Session(
      Chain("refresh") {
        log.record("refresh")
        await open.waitForCancellation()
        return "token"
      }
    )
    let callers = (0..<5).map { _ in Task { try await session.token() } }
    await log.elements(atLeast: 1)
    callers[0].cancel()
    await #expect(throws: CancellationError.self) { try await callers[0].value }
    open.cancel()
    for caller in callers.dropFirst() { #expect(try await caller.value == "token") }
    #expect(log.elements == ["refresh"])
    #expect(try await session.token() == "token")
    #expect(log.elements == ["refresh", "refresh"])
  }

  @Test
  func `Everything under a session's token ends when the user signs out`() async throws {
    let endless = Endless()
    let synchronize = Chain("synchronize") { (folder: String) in try await endless(folder) }
    let send = Chain("send") { (draft: String) in try await endless(draft) }

    let session = CancellationToken()
    let sync = synchronize.start("inbox", cancelledBy: session)
    let sending = send.start("draft", cancelledBy: session)
    session.cancel(reason: "signed out")

    for run in [sync, sending] { #expect(await "\(run.outcome)".hasPrefix("cancelled: signed out")) }
  }

  struct Server: Sendable {
    private let handle: Chain<Int, String>
    private let stopping = CancellationToken()

    init(_ handle: Chain<Int, String>) { self.handle = handle }

    func serve(_ request: Int) -> Run<String> { handle.start(request, cancelledBy: stopping) }

    func shutDown(grace: Duration, clock: any Clock<Duration> = ContinuousClock()) async {
      let handle = handle
      try? await Chain("grace") { await handle.waitUntilIdle() }.timeout(grace, clock: clock).run()
      stopping.cancel(reason: "shutting down")
      await handle.waitUntilIdle()
    }
  }

  @Test
  func `A server that shuts down waits for its requests, then cancels them`() async throws {
    let (clock, endless) = (clock, Endless())
    let server = Server(
      Chain("answer") { (request: Int) in
        if request == 1 { try await endless("\(request)") }
        return "200"
      }
    )
    let quick = server.serve(0)
    let slow = server.serve(1)
    await endless.begun.elements(atLeast: 1)
    async let end: Void = server.shutDown(grace: .seconds(10), clock: clock)
    await clock.sleepers(atLeast: 1)
    #expect(!slow.isFinished)
    clock.advance(by: .seconds(10))
    await end
    #expect(try await quick.value == "200")
    #expect(await "\(slow.outcome)".hasPrefix("cancelled: shutting down"))
  }
}
