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

  @Test
  func `Many callers refresh a token once`() async throws {
    let (log, open) = (log, CancellationToken())
    @Sendable func requestToken() async throws -> String {
      log.record("refresh")
      await open.waitForCancellation()
      return "token"
    }

    let refresh = Chain("refresh") { () in try await requestToken() }.coalesced()
    let callers = (0..<5).map { _ in Task { try await refresh.run() } }
    while refresh.runsInFlight < 5 { await Task.yield() }
    callers[0].cancel()
    await #expect(throws: CancellationError.self) { try await callers[0].value }
    open.cancel()
    for caller in callers.dropFirst() { #expect(try await caller.value == "token") }
    #expect(log.elements == ["refresh"])

    let token = try await refresh.run()

    #expect(token == "token")
    #expect(log.elements == ["refresh", "refresh"])
  }

  actor ImageCache {
    private var images: [URL: Data] = [:]

    private func store(_ image: Data, for url: URL) { images[url] = image }

    nonisolated func caching(_ load: Chain<URL, Data>) -> Chain<URL, Data> {
      Chain("cache") { (url: URL) in
        if let image = await self.images[url] { return image }
        let image = try await load.run(url)
        await self.store(image, for: url)
        return image
      }
      .coalesced(by: \.self)
    }
  }

  private nonisolated struct ImageRequest: Sendable {
    let url: URL
    let size: Int
  }

  @Test
  func `An image is loaded once`() async throws {
    let (log, url) = (log, try #require(URL(string: "https://example.org/cat")))
    let images = ImageCache().caching(
      Chain("image") { (url: URL) in
        log.record("load")
        return try await download(url)
      }
    )
    async let first = images.run(url)
    async let second = images.run(url)
    #expect(try await first == second)
    #expect(try await images.run(url).count == 8)
    #expect(log.elements == ["load"])

    @Sendable func load(_ request: ImageRequest) async throws -> Int { request.size }
    let requests = Chain("image") { (request: ImageRequest) in try await load(request) }.coalesced(by: \.url)
    #expect(try await requests.run(ImageRequest(url: url, size: 3)) == 3)
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
