// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// Many requests, and large ones, each test in a process of its own.
@Suite(.timeLimit(.minutes(10)), .serialized) struct LoadTests {
  /// 2,000 requests at 1,000 rounds, each cancelled at a random moment: none hangs and none is lost.
  @Test func `Requests cancelled at random moments all end`() async {
    await #expect(processExitsWith: .success) {
      let server = try serve { request in
        switch request.path {
        case "/redirect": .redirect(to: "/slow")
        case "/slow": Reply.ok([UInt8](repeating: 1, count: 3_000)).slowly(chunkSize: 1_000, pause: .milliseconds(1))
        case "/close": .silent
        default: .ok([UInt8](repeating: 1, count: 1_000))
        }
      }
      let urls = try ["/", "/redirect", "/slow", "/close"].map { try server.url($0) }
      let (total, width) = (2 * rounds, 32)
      let ends = Ends()
      await withTaskGroup(of: Void.self) { group in
        for lane in 0..<width {
          group.addTask {
            var random = Xorshift(seed: UInt64(lane) + 1)
            for number in stride(from: lane, to: total, by: width) {
              let url = urls[number / width % urls.count]
              let request = Task { try await HTTP.get(url) }
              // Anything from before it began to after its end.
              switch random.next() % 5 {
              case 0: break
              case 4: _ = await request.result
              case 1: for _ in 0..<(random.next() % 50) { await Task.yield() }
              default: try? await ContinuousClock().pause(.microseconds(Int(random.next() % 3_000)))
              }
              request.cancel()
              switch await request.result {
              case .success: ends.count { $0.answered += 1 }
              case .failure(is CancellationError): ends.count { $0.cancelled += 1 }
              case .failure: ends.count { $0.failed += 1 }
              }
            }
          }
        }
      }
      let counts = ends.counts
      #expect(counts.answered + counts.cancelled + counts.failed == total)
      #expect(counts.answered > 0 && counts.cancelled > 0, "\(counts)")
      #expect(HTTPActivity.current == 0)
      #expect(try await HTTP.get(urls[0]).status == 200)
    }
  }

  /// A thousand requests wait for one host, most of them for a connection; the session still reaches another host.
  @Test func `A thousand requests in flight delay no other host`() async {
    await #expect(processExitsWith: .success) {
      let (arrived, gate) = (Recorder<Bool>(), DispatchSemaphore(value: 0))
      let busy = try serve { _ in
        arrived.record(true)
        gate.wait()
        return .text("done")
      }
      let other = try serve { _ in .text("at once") }
      let session = HTTPSession()
      let (client, prompt) = try (
        HTTPClient(baseURL: busy.url(), session: session), HTTPClient(baseURL: other.url(), session: session)
      )
      async let answered = answers(1_000, from: client)
      await arrived.elements(atLeast: HTTPSession.defaultConnectionsPerHost)
      #expect(await becomesTrue { HTTPActivity.current == 1_000 })
      for _ in 0..<20 { #expect(try await prompt.get().text == "at once") }
      #expect(HTTPActivity.current == 1_000 && busy.requestCount == HTTPSession.defaultConnectionsPerHost)
      for _ in 0..<1_000 { gate.signal() }
      #expect(await answered == 1_000)
      #expect(HTTPActivity.current == 0)
    }
  }

  /// All of them have to be there before any is answered: with fewer connections this would never end.
  @Test func `A thousand concurrent requests run side by side`() async {
    await #expect(processExitsWith: .success) {
      let (arrived, gate) = (Recorder<Bool>(), DispatchSemaphore(value: 0))
      let server = try serve { _ in
        arrived.record(true)
        gate.wait()
        return .text("done")
      }
      let client = HTTPClient(baseURL: try server.url(), session: HTTPSession(connectionsPerHost: 1_000))
      async let answered = answers(1_000, from: client)
      await arrived.elements(atLeast: 1_000)
      #expect(HTTPActivity.current == 1_000)
      for _ in 0..<1_000 { gate.signal() }
      #expect(await answered == 1_000)
      #expect(HTTPActivity.current == 0)
    }
  }

  /// A request that stayed in memory would take its body's 1,000 bytes at least.
  @Test(.enabled(if: isMeasurable)) func `Memory is constant over many requests`() async throws {
    let server = try serve { _ in .ok([UInt8](repeating: 1, count: 1_000)) }
    let url = try server.url()
    await #expect(processExitsWith: .success) { [url = url as URL, count = max(2_500, rounds / 4) as Int] in
      LoopbackServer.bypassProxy()
      for _ in 0..<(count / 2) { _ = try await HTTP.get(url) }
      let before = residentMemory()
      for _ in 0..<count { _ = try await HTTP.get(url) }
      let growth = residentMemory() - before
      #expect(growth < count * 300 + 500_000, "\(growth / count) bytes each")
      #expect(HTTPActivity.current == 0)
    }
  }

  @Test(.enabled(if: isMeasurable)) func `A large download takes little memory`() async throws {
    let server = try serve { _ in Reply.ok([UInt8](repeating: 1, count: 1_000_000)).repeated(300) }
    let url = try server.url()
    await #expect(processExitsWith: .success) { [url = url as URL] in
      LoopbackServer.bypassProxy()
      try await inFolder { folder in
        let file = folder.appendingPathComponent("file")
        let response = try await HTTP.download(url, to: file)
        #expect(response.status == 200)
        let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
        #expect(size == 300_000_000)
        #expect(peakMemory() < 80_000_000, "\(peakMemory()) bytes")
      }
    }
  }

  @Test func `The number of connections per host is a setting`() async throws {
    let (arrived, gate) = (Recorder<Bool>(), DispatchSemaphore(value: 0))
    let server = try serve { _ in
      arrived.record(true)
      gate.wait()
      return .text("done")
    }
    let client = HTTPClient(baseURL: try server.url(), session: HTTPSession(connectionsPerHost: 2))
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<6 { group.addTask { try await client.get().status } }
      for count in 1...6 {
        await arrived.elements(atLeast: min(count + 1, 6))
        #expect(server.connectionCount <= 2)
        gate.signal()
      }
      for try await status in group { #expect(status == 200) }
    }
  }
}

/// How many of so many requests at once were answered.
private func answers(_ count: Int, from client: HTTPClient) async -> Int {
  await withTaskGroup(of: Bool.self) { group in
    for _ in 0..<count { group.addTask { (try? await client.get().status) == 200 } }
    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
  }
}

/// How requests ended.
private final class Ends: Sendable {
  struct Counts {
    var answered = 0
    var cancelled = 0
    var failed = 0
  }

  private let state = Lock(Counts())

  var counts: Counts { state.withLock { $0 } }

  func count(_ change: (inout Counts) -> Void) { state.withLock { change(&$0) } }
}
