// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseHTTP
import StepwiseTesting
import Testing

/// Cancelled in each phase, the wait ends within 100 ms and the server sees the connection closed.
///
/// The servers never answer: a wait that ended with the response would not end. How quickly it does is measured.
@Suite(.timeLimit(.minutes(5)), .serialized) struct CancellationTests {
  private static let patience = Duration.milliseconds(100)

  /// Tries until one is prompt, because a busy machine may be late many times in a row without a defect.
  private static func expectPromptness(_ attempt: () async throws -> Duration) async throws {
    var durations: [Duration] = []
    for _ in 0..<200 {
      durations.append(try await attempt())
      if durations.contains(where: { $0 < patience }) { return }
    }
    Issue.record("none of the waits was prompt: \(durations.min() ?? .zero) at best")
  }

  /// Cancels a request and says how long its wait went on.
  private static func cancel(_ request: Task<HTTPResponse, any Error>) async -> Duration {
    let start = ContinuousClock.now
    request.cancel()
    await #expect(throws: CancellationError.self) { try await request.value }
    return ContinuousClock.now - start
  }

  @Test func `A task that is already cancelled opens no connection`() async throws {
    let server = try serve { _ in .text("reached") }
    let url = try server.url()
    let request = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await HTTP.get(url)
    }
    await #expect(throws: CancellationError.self) { try await request.value }
    #expect(try await HTTP.get(url).status == 200)
    #expect(server.requestCount == 1)
    #expect(server.connectionCount <= 1)
  }

  @Test func `A request is cancelled during its connection`() async throws {
    try await Self.expectPromptness {
      let port = try DeadPort()
      let (url, activity) = (try port.url, Recorder<Int>())
      let watch = Task { for await number in HTTP.activity { activity.record(number) } }
      defer { watch.cancel() }
      await activity.elements(atLeast: 1)
      let request = Task { try await HTTP.get(url) }
      await activity.elements(atLeast: 2)
      let duration = await Self.cancel(request)
      return duration
    }
  }

  #if os(Linux)
    /// No connection was accepted, so the test observes that the client stops trying.
    @Test func `A request is cancelled while it connects`() async throws {
      try await Self.expectPromptness {
        let port = try FullPort()
        let url = try port.url
        let request = Task { try await HTTP.get(url) }
        #expect(await becomesTrue { port.knocks == 1 })
        let duration = await Self.cancel(request)
        #expect(await becomesTrue { port.knocks == 0 })
        return duration
      }
    }
  #endif

  @Test func `A request is cancelled by its progress handler`() async throws {
    let server = try serve { _ in Reply.ok([UInt8](repeating: 1, count: 1_000_000)).stalling(after: 100_000) }
    let url = try server.url()
    try await inFolder { folder in
      let known = Recorder<Bool>()
      let itself = Lock<Task<HTTPResponse, any Error>?>(nil)
      let task = Task {
        await known.elements(atLeast: 1)
        return try await HTTP.download(url, to: folder.appendingPathComponent("file")) { progress in
          if progress.receivedBytes > 0 { itself.withLock { $0 }?.cancel() }
        }
      }
      itself.withLock { $0 = task }
      known.record(true)
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }

  @Test func `A request is cancelled while its body is sent`() async throws {
    try await Self.expectPromptness {
      let port = try DeadPort()
      let url = try port.url
      let request = Task { try await HTTP.post(url, body: .bytes(Data(count: 50_000_000))) }
      let connection = try #require(await onThread { port.waitForConnection() })
      #expect(await onThread { connection.receive() != nil })
      let duration = await Self.cancel(request)
      await onThread { while connection.receive() != nil {} }
      connection.close()
      return duration
    }
  }

  @Test func `A request is cancelled while it waits for the head`() async throws {
    try await Self.expectPromptness {
      let (requested, ends) = (Recorder<Bool>(), Recorder<Bool>())
      let server = try serve { _ in
        requested.record(true)
        return Reply.text("late").pausing(.seconds(3600)).onEnd { ends.record($0) }
      }
      let url = try server.url()
      let request = Task { try await HTTP.get(url) }
      await requested.elements(atLeast: 1)
      let duration = await Self.cancel(request)
      #expect(await ends.elements(atLeast: 1) == [false])
      return duration
    }
  }

  @Test func `A request is cancelled while its body is received`() async throws {
    try await Self.expectPromptness {
      let ends = Recorder<Bool>()
      let server = try serve { _ in
        Reply.ok([UInt8](repeating: 1, count: 100_000)).slowly(chunkSize: 10, pause: .milliseconds(2)).onEnd {
          ends.record($0)
        }
      }
      var duration = Duration.zero
      try await inFolder { folder in
        let (url, pieces) = (try server.url(), Recorder<HTTPDownloadProgress>())
        let request = Task {
          try await HTTP.download(url, to: folder.appendingPathComponent("file")) { pieces.record($0) }
        }
        await pieces.elements(atLeast: 3)
        duration = await Self.cancel(request)
        #expect(await ends.elements(atLeast: 1) == [false])
      }
      return duration
    }
  }

  @Test func `A request is cancelled between redirects`() async throws {
    try await Self.expectPromptness {
      let (requested, ends) = (Recorder<Bool>(), Recorder<Bool>())
      let server = try serve { request in
        if request.path == "/" { return .redirect(to: "/next") }
        requested.record(true)
        return Reply.text("late").pausing(.seconds(3600)).onEnd { ends.record($0) }
      }
      let url = try server.url()
      let request = Task { try await HTTP.get(url) }
      await requested.elements(atLeast: 1)
      let duration = await Self.cancel(request)
      #expect(await ends.elements(atLeast: 1) == [false])
      return duration
    }
  }

  @Test func `Cancelling after the end changes nothing`() async throws {
    let server = try serve { _ in .text("done") }
    let url = try server.url()
    let request = Task {
      let response = try await HTTP.get(url)
      withUnsafeCurrentTask { $0?.cancel() }
      return response
    }
    #expect(try await request.value.body == Data("done".utf8))
  }

  @Test func `A token cancels a request in a chain`() async throws {
    let (requested, ends) = (Recorder<Bool>(), Recorder<Bool>())
    let server = try serve { _ in
      requested.record(true)
      return Reply.text("late").pausing(.seconds(3600)).onEnd { ends.record($0) }
    }
    let chain = Chain("get") { (url: URL) in try await HTTP.get(url).status }
    let token = chain.cancellationToken
    let run = try chain.start(server.url())
    await requested.elements(atLeast: 1)
    token.cancel(reason: "left the screen")
    guard case .cancelled(let cancellation) = await run.outcome else { return #expect(Bool(false)) }
    #expect(cancellation.reason == "left the screen")
    #expect(cancellation.underlyingError == nil)
    #expect(await ends.elements(atLeast: 1) == [false])
  }

  @Test func `A token around a request cancels it`() async throws {
    let requested = Recorder<Bool>()
    let server = try serve { _ in
      requested.record(true)
      return Reply.text("late").pausing(.seconds(3600))
    }
    let (url, token) = (try server.url(), CancellationToken())
    let request = Task { try await withCancellation(by: token) { try await HTTP.get(url) } }
    await requested.elements(atLeast: 1)
    token.cancel()
    await #expect(throws: CancellationError.self) { try await request.value }
  }
}
