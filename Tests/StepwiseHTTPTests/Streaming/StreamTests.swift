// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// Responses whose bodies are received as they are read.
@Suite(.timeLimit(.minutes(5))) struct StreamTests {
  @Test func `The head arrives before the body`() async throws {
    let gate = DispatchSemaphore(value: 0)
    let server = try serve { request in
      Reply(status: 203, headers: [("X-Path", request.path)], body: Array("body".utf8)).stalling(after: 2)
    }
    defer { gate.signal() }
    let response = try await HTTP.stream(server.url("/it"))
    #expect(response.status == 203 && response.isSuccess && response.headers["x-path"] == "/it")
    #expect(try response.url == server.url("/it"))
    var received = Data()
    for try await chunk in response.body {
      received += chunk
      if received.count == 2 { break }
    }
    #expect(received == Data("bo".utf8))
  }

  @Test(arguments: [0, 1, 100_000, 10_000_000]) func `All chunks together are the body`(size: Int) async throws {
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let server = try serve { _ in .ok(bytes) }
    var received = Data()
    for try await chunk in try await HTTP.stream(server.url()).body {
      #expect(!chunk.isEmpty)
      received += chunk
    }
    #expect(received == Data(bytes))
  }

  @Test func `A stream sends what other requests send`() async throws {
    let server = try serve { request in
      .text("\(request.method) \(request.query ?? "-") \(request.header("X") ?? "-") \(request.body.count)")
    }
    let client = HTTPClient(baseURL: try server.url("/v1"), headers: ["X": "1"])
    let path = try #require(URL(string: "a"))
    let request = HTTPRequest(method: "POST", url: path, query: ["q": "1"], body: try .json([1, 2]))
    let response = try await client.stream(request)
    var text = Data()
    for try await chunk in response.body { text += chunk }
    #expect(String(decoding: text, as: UTF8.self) == "POST q=1 1 5")
  }

  @Test func `A stream sends a body of any kind, by any method, with progress`() async throws {
    let server = try serve { request in .text("\(request.method) \(String(decoding: request.body, as: UTF8.self))") }
    let client = HTTPClient(baseURL: try server.url())
    let pieces = AsyncStream { continuation in
      for text in ["ab", "cd"] { continuation.yield(Data(text.utf8)) }
      continuation.finish()
    }
    let progress = Recorder<Int64>()
    var request = try HTTPRequest(method: "POST", url: server.url(), body: .sequence(pieces, length: 4))
    request.onSend { progress.record($0.sentBytes) }
    let posted = try await HTTP.stream(request)
    #expect(try await posted.body.reduce(into: Data()) { $0 += $1 } == Data("POST abcd".utf8))
    #expect(progress.elements.last == 4)
    let body = HTTPBody.bytes(Data("e".utf8), type: "text/plain")
    let patched = try await client.stream(HTTPRequest(method: "PATCH", url: server.url("/a"), body: body))
    #expect(try await patched.body.reduce(into: Data()) { $0 += $1 } == Data("PATCH e".utf8))
    await #expect(throws: HTTPError.refused(reason: "")) {
      try await client.stream(HTTPRequest(url: server.url(), body: .bytes(Data())))
    }
  }

  /// The server sees the end of the connection, although its body has no end.
  @Test(arguments: ["break", "release", "cancel", "never read"]) func `Leaving the loop ends the request`(way: String)
    async throws
  {
    let (ended, received) = (Recorder<Bool>(), Recorder<Bool>())
    let server = try serve { _ in Reply.ok([1, 2, 3]).repeated(1 << 40).declaring(.absent).onEnd { ended.record($0) } }
    let url = try server.url()
    switch way {
    case "break":
      for try await _ in try await HTTP.stream(url).body { break }
    case "release":
      var iterator: HTTPBodyStream.Iterator? = try await HTTP.stream(url).body.makeAsyncIterator()
      _ = try await iterator?.next()
      iterator = nil
    case "never read":
      _ = try await HTTP.stream(url)
    default:
      let loop = Task {
        for try await _ in try await HTTP.stream(url).body { received.record(true) }
      }
      await received.elements(atLeast: 1)
      loop.cancel()
      await #expect(throws: CancellationError.self) { try await loop.value }
    }
    await ended.elements(atLeast: 1)
    #expect(ended.elements == [false])
    #expect(await becomesTrue { HTTPActivity.current == 0 || server.requestCount > 1 })
  }

  @Test func `A body is read once`() async throws {
    let server = try serve { _ in .text("text") }
    let response = try await HTTP.stream(server.url())
    for try await _ in response.body {}
    await #expect(throws: HTTPError.refused(reason: "")) { for try await _ in response.body {} }
  }

  @Test func `A body that breaks off throws`() async throws {
    let server = try serve { _ in Reply.ok([UInt8](repeating: 1, count: 5_000)).closing(after: 100) }
    let response = try await HTTP.stream(server.url())
    var count = 0
    await #expect(throws: HTTPError.connectionLost(reason: "")) {
      for try await chunk in response.body { count += chunk.count }
    }
    #expect(count == 100)
  }

  @Test func `The idle deadline counts while the loop waits`() async throws {
    let clock = ManualClock()
    let server = try serve { _ in Reply.ok([1, 2, 3, 4]).stalling(after: 2) }
    let deadlines = HTTPDeadlines(headers: nil, idle: .seconds(5), total: nil, clock: clock)
    let response = try await HTTP.stream(server.url(), deadlines: deadlines)
    let (received, busy) = (Recorder<Int>(), Recorder<Bool>())
    let loop = Task {
      for try await chunk in response.body {
        received.record(chunk.count)
        await busy.elements(atLeast: 1)
      }
    }
    await received.elements(atLeast: 1)
    // The loop does something else: that is no fault of the server.
    clock.advance(by: .seconds(60))
    busy.record(true)
    let ended = Recorder<Bool>()
    let watch = Task {
      await #expect(throws: HTTPError.timedOut(.idle)) { try await loop.value }
      ended.record(true)
    }
    #expect(
      await becomesTrue {
        clock.advance(by: .seconds(1))
        return !ended.elements.isEmpty
      }
    )
    await watch.value
  }

  @Test func `An error status is thrown with the beginning of the body`() async throws {
    let server = try serve { _ in Reply(status: 500, body: [UInt8](repeating: 65, count: 1_000_000)) }
    let response = try await HTTP.stream(server.url())
    let error = await #expect(throws: HTTPStatusError.self) { try await response.requireSuccess() }
    #expect(error?.response.body.count == 64 * 1024 && error?.status == 500)
  }

  /// What the transport reads ahead is bounded; 300 MB are not held.
  @Test(.enabled(if: isMeasurable)) func `Memory is constant while streaming`() async throws {
    let server = try serve { _ in Reply.ok([UInt8](repeating: 1, count: 1_000_000)).repeated(300) }
    let url = try server.url()
    await #expect(processExitsWith: .success) { [url = url as URL] in
      LoopbackServer.bypassProxy()
      var count = 0
      for try await chunk in try await HTTP.stream(url).body { count += chunk.count }
      #expect(count == 300_000_000)
      #expect(peakMemory() < 80_000_000, "\(peakMemory()) bytes")
    }
  }
}
