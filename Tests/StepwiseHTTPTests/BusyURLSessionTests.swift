// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking
  import Loopback
  import StepwiseTesting
  import Testing

  @testable import StepwiseHTTP

  /// On Linux all sessions of URLSession work on one queue; each test holds it up in a process of its own.
  @Suite(.timeLimit(.minutes(10))) struct BusyURLSessionTests {
    private static func client(_ server: LoopbackServer) throws -> HTTPClient {
      let transport = URLSessionTransport(configuration: .ephemeral)
      return HTTPClient(baseURL: try server.url(), session: HTTPSession(transport: transport))
    }

    @Test func `Requests end immediately even if URLSession is blocked`() async {
      await #expect(processExitsWith: .success) {
        let server = try serve { _ in .text("there") }
        let (client, queue) = (try Self.client(server), StuckQueue())
        let url = try server.url()
        let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
        session.dataTask(with: url) { _, _, _ in }.resume()
        await queue.calls.elements(atLeast: 1)

        let deadlines = HTTPDeadlines(headers: .milliseconds(50))
        await #expect(throws: HTTPError.timedOut(.headers)) { try await client.get(deadlines: deadlines) }
        let request = Task { try await client.get() }
        #expect(await becomesTrue { HTTPActivity.current == 1 })
        request.cancel()
        await #expect(throws: CancellationError.self) { try await request.value }

        queue.gate.signal()
        #expect(try await client.get().status == 200)
        // The first one is on its way. One that a deadline ended may be sent before URLSession is told to cancel it.
        #expect(await becomesTrue { server.requestCount >= 2 })
      }
    }

    /// A download that is not consumed blocks its own connection, and no others.
    @Test func `A progress handler that waits blocks no other session`() async {
      await #expect(processExitsWith: .success) {
        let server = try serve { request in
          request.path == "/" ? .text("there") : Reply.ok([UInt8](repeating: 1, count: 1_000_000)).repeated(20)
        }
        let first = try Self.client(server)
        try await inFolder { folder in
          let file = folder.appendingPathComponent("file")
          let (gate, entered) = (DispatchSemaphore(value: 0), Recorder<Bool>())
          let download = Task {
            try await first.download("large", to: file) { progress in
              guard progress.receivedBytes > 0, entered.elements.isEmpty else { return }
              entered.record(true)
              gate.wait()
            }
          }
          await entered.elements(atLeast: 1)
          let client = try Self.client(server)
          for _ in 0..<4 { _ = try await client.get() }
          gate.signal()
          let status = try await download.value.status
          #expect(status == 200)
        }
      }
    }
  }

  /// Blocks every thread that adds an operation to it.
  private final class StuckQueue: OperationQueue, @unchecked Sendable {  // Safety: what it adds is Sendable.
    let calls = Recorder<Bool>()
    let gate = DispatchSemaphore(value: 0)

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
      calls.record(true)
      gate.wait()
      super.addOperation(block)
    }
  }
#endif
