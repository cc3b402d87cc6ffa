// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseHTTP
import StepwiseTesting
import Testing

/// Deadlines that are this library's own; URLSession on Linux ignores some of its.
@Suite(.timeLimit(.minutes(5))) struct DeadlineTests {
  /// Starts a request, lets the server come so far, moves the clock just short of the deadline and then over it.
  private static func expectTimeout(
    _ deadlines: HTTPDeadlines,
    clock: ManualClock,
    after duration: Duration,
    from url: URL,
    ready: @escaping @Sendable () async -> Void
  ) async throws {
    async let response = HTTP.get(url, deadlines: deadlines)
    await ready()
    await clock.sleepers(atLeast: 1)
    clock.advance(by: duration)
    do {
      let status = try await response.status
      Issue.record("an answer with status \(status)")
    } catch {
      #expect(error as? HTTPError == .timedOut(deadlines.headers == nil ? .total : .headers))
    }
  }

  @Test func `The head has to arrive in time`() async throws {
    let (clock, ends, requested) = (ManualClock(), Recorder<Bool>(), Recorder<Bool>())
    let server = try serve { _ in
      requested.record(true)
      return Reply.text("late").pausing(.seconds(3600)).onEnd { ends.record($0) }
    }
    let deadlines = HTTPDeadlines(headers: .seconds(5), idle: nil, clock: clock)
    try await Self.expectTimeout(deadlines, clock: clock, after: .seconds(5), from: server.url()) {
      await requested.elements(atLeast: 1)
    }
    #expect(await ends.elements(atLeast: 1) == [false])
  }

  @Test func `The time to connect counts as time for the head`() async throws {
    let (clock, connection) = (ManualClock(), Recorder<Socket>())
    let port = try DeadPort()
    let deadlines = HTTPDeadlines(headers: .milliseconds(300), idle: nil, clock: clock)
    try await Self.expectTimeout(deadlines, clock: clock, after: .milliseconds(300), from: port.url) {
      // The time does not count before the transport has begun to connect.
      if let socket = await onThread({ port.waitForConnection() }) { connection.record(socket) }
    }
    connection.elements.first?.close()
  }

  @Test func `Each piece of the body has to arrive in time`() async throws {
    let (clock, ends) = (ManualClock(), Recorder<Bool>())
    let server = try serve { _ in
      Reply.ok([UInt8](repeating: 7, count: 2_000)).stalling(after: 1_000).onEnd { ends.record($0) }
    }
    // The head is there at once, the first piece never.
    let deadlines = HTTPDeadlines(headers: nil, idle: .seconds(5), clock: clock)
    try await inFolder { folder in
      let (url, file, progress) = (
        try server.url(), folder.appendingPathComponent("file"), Recorder<HTTPDownloadProgress>()
      )
      let request = Task { try await HTTP.download(url, to: file, deadlines: deadlines) { progress.record($0) } }
      // The first piece, and the head before it.
      await progress.elements(atLeast: 2)
      // The deadline counts from when the next piece is waited for, which is about now.
      let ended = Recorder<Bool>()
      let watch = Task {
        await #expect(throws: HTTPError.timedOut(.idle)) { try await request.value }
        ended.record(true)
      }
      #expect(
        await becomesTrue {
          clock.advance(by: .seconds(1))
          return !ended.elements.isEmpty
        }
      )
      await watch.value
      #expect(await ends.elements(atLeast: 1) == [false])
    }
  }

  @Test func `The whole response has to arrive in time`() async throws {
    let (clock, requested) = (ManualClock(), Recorder<Bool>())
    let server = try serve { _ in
      requested.record(true)
      return Reply.ok([UInt8](repeating: 7, count: 2_000_000)).slowly(chunkSize: 1, pause: .milliseconds(5))
    }
    let deadlines = HTTPDeadlines(headers: nil, idle: nil, total: .seconds(60), clock: clock)
    try await Self.expectTimeout(deadlines, clock: clock, after: .seconds(60), from: server.url()) {
      await requested.elements(atLeast: 1)
    }
  }

  @Test func `No response is late before the deadline`() async throws {
    let (clock, gate) = (ManualClock(), DispatchSemaphore(value: 0))
    let server = try serve { _ in
      gate.wait()
      return .text("in time")
    }
    let request = Task {
      try await HTTP.get(server.url(), deadlines: HTTPDeadlines(headers: .seconds(5), total: .seconds(5), clock: clock))
    }
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .milliseconds(4_999))
    gate.signal()
    #expect(try await request.value.status == 200)
    #expect(clock.sleeperCount == 0)
  }

  @Test(arguments: [Duration.zero, .seconds(-1)]) func `A deadline of zero has already passed`(duration: Duration)
    async throws
  {
    let server = try serve { _ in .text("unasked") }
    let url = try server.url()
    let clocks: [any Clock<Duration>] = [ManualClock(), ContinuousClock()]
    for clock in clocks {
      await #expect(throws: HTTPError.timedOut(.headers)) {
        try await HTTP.get(url, deadlines: HTTPDeadlines(headers: duration, clock: clock))
      }
      await #expect(throws: HTTPError.timedOut(.total)) {
        try await HTTP.get(url, deadlines: HTTPDeadlines(total: duration, clock: clock))
      }
    }
    #expect(server.requestCount == 0)
  }

  @Test func `Deadlines below a second work with real clocks`() async throws {
    let server = try serve { _ in Reply.text("late").pausing(.seconds(3600)) }
    let start = ContinuousClock.now
    await #expect(throws: HTTPError.timedOut(.headers)) {
      try await HTTP.get(server.url(), deadlines: HTTPDeadlines(headers: .milliseconds(150)))
    }
    #expect(ContinuousClock.now - start >= .milliseconds(150))
  }
}
