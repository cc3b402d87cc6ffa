// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux)
  import Foundation
  import Loopback
  import Stepwise
  import StepwiseTesting
  import Testing

  @testable import StepwiseHTTP

  /// What transfers on libcurl share: handles, connections, and the queue of their host.
  @Suite(.timeLimit(.minutes(5))) struct CurlReuseTests {
    @Test func `No option of a request remains for the next one on the same handle`() async throws {
      let server = try serve { request in
        let names = ["X", "Y", "Expect", "Content-Type"].filter { request.header($0) != nil }
        return .text("\(request.method) \(request.path) \(names.joined(separator: "+")) \(request.body.count)")
      }
      let client = HTTPClient(baseURL: try server.url(), session: HTTPSession(connectionsPerHost: 1))
      for round in 0..<3 {
        #expect(try await client.get("a", headers: ["X": "1"]).text == "GET /a X 0", "\(round)")
        #expect(try await client.get("a", headers: ["Y": "1"]).text == "GET /a Y 0")
        #expect(try await client.get("b").text == "GET /b  0")
        #expect(try await client.post("c", body: .bytes(Data([1, 2]))).text == "POST /c Content-Type 2")
        #expect(try await client.get("a").text == "GET /a  0")
        #expect(try await client.delete("d", headers: ["X": "1"]).text == "DELETE /d X 0")
        #expect(try await client.head("e").body.isEmpty)
        #expect(try await client.get("f", headers: ["Y": "2", "X": ""]).text == "GET /f X+Y 0")
        #expect(try await client.put("g", json: [1]).text == "PUT /g Content-Type 3")
      }
      #expect(server.connectionCount == 1)
    }

    /// libcurl counts how often it has sent a request again, over all transfers of a handle.
    @Test func `A handle outlives any number of connections that die at their second request`() async throws {
      let seen = Lock<Set<String>>([])
      let server = try RawServer { head in
        let dies = !head.hasPrefix("GET /0 ") && seen.withLock { $0.insert(head).inserted }
        return dies ? nil : RawServer.Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", end: .hold)
      }
      let client = HTTPClient(baseURL: try server.url(), session: HTTPSession(connectionsPerHost: 1))
      for round in 0..<20 {
        #expect(try await client.get("\(round)").text == "ok")
      }
    }

    /// libcurl 7.88 reads it as the continuation of a line of the last response on that handle, which is free.
    @Test(arguments: [" ", "\t"])
    func `A first header line that begins with a space does not end the process`(space: String) async {
      await #expect(processExitsWith: .success) { [space = space as String] in
        let many = (0..<20).map { "X-\($0): \(String(repeating: "v", count: 10 + $0 * 7))\r\n" }.joined()
        let server = try RawServer { head in
          let fields = head.hasPrefix("GET /bad") ? "\(space)X-A: b\r\n" : many
          return RawServer.Answer("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 2\r\n\r\nok", end: .hold)
        }
        let client = HTTPClient(baseURL: try server.url(), session: HTTPSession())
        for _ in 0..<50 {
          #expect(try await client.get("good").text == "ok")
          do {
            #expect(try await client.get("bad").text == "ok")
          } catch {
            #expect(error as? HTTPError == .protocolError(reason: ""))
          }
        }
      }
    }

    @Test(arguments: ["GET", "DELETE", "HEAD"])
    func `A handle outlives any number of requests that are sent again on an open connection`(
      method: String
    ) async throws {
      let seen = Lock<Set<String>>([])
      let pairs = DispatchSemaphore(value: 0)
      let goOn = DispatchSemaphore(value: 0)
      let server = try RawServer { head in
        if head.hasPrefix("GET /first") {
          pairs.signal()
          goOn.wait()
        } else if head.hasPrefix("\(method) /dies"), seen.withLock({ $0.insert(head).inserted }) {
          return nil
        }
        return RawServer.Answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", end: .hold)
      }
      let client = HTTPClient(baseURL: try server.url(), session: HTTPSession(connectionsPerHost: 2))
      for round in 0..<8 {
        // The first one uses an open connection, and the second one opens another.
        async let first = client.get("first\(round)")
        await onThread { pairs.wait() }
        #expect(try await client.get("second\(round)").status == 200)
        goOn.signal()
        #expect(try await first.status == 200)
        // Its connection dies, and it is sent again on the other one.
        let request = HTTPRequest(method: method, url: try server.url("/dies\(round)"))
        #expect(try await client.send(request).status == 200, "\(round)")
      }
      #expect(server.requests.count { $0.hasPrefix("\(method) /dies") } == 16)
    }

    /// The system reports a closed connection again and again until it is no longer watched.
    @Test(
      .enabled(if: isMeasurable)
    )
    func `A thousand idle requests take under 2 % of a core`() async {
      await #expect(processExitsWith: .success) {
        let session = HTTPSession(connectionsPerHost: 1_000)
        let silent = try serve { _ in .silent }
        let client = HTTPClient(baseURL: try silent.url(), session: session, deadlines: .never)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<1_000 { group.addTask { _ = try? await client.get() } }
          #expect(await becomesTrue { silent.requestCount == 1_000 })
          // Afterwards, as libcurl closes broken connections when it opens others.
          for _ in 0..<20 {
            // It closes after its response, without having announced that.
            let server = try RawServer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await HTTPClient(baseURL: server.url(), session: session).get().text == "ok")
          }
          // The first seconds may still have the work of the beginning in them.
          var used: [Duration] = []
          while used.count < 10, used.last.map({ $0 > .milliseconds(20) }) ?? true {
            let before = processorTime()
            try? await ContinuousClock().pause(.seconds(1))
            used.append(processorTime() - before)
          }
          #expect(used.last.map { $0 <= .milliseconds(20) } == true, "\(used) of a second each")
          group.cancelAll()
        }
      }
    }

    @Test func `Transfers wait for their host in order, and those that have ended are released`() async throws {
      let (states, gates) = (Recorder<String>(), (0..<6).map { _ in DispatchSemaphore(value: 0) })
      let server = try serve { request in
        Int(request.path.dropFirst()).map { gates[$0].wait() }
        return .text("done")
      }
      let transport = try #require(CurlTransport(connectionsPerHost: 2))
      var transfers: [any HTTPTransfer] = []
      var heads: [Task<Int, any Error>] = []
      for index in 0..<6 {
        var request = HTTPRequest(url: try server.url("/\(index)"))
        request.onWait = { isWaiting in states.record("\(index) \(isWaiting ? "waits" : "starts")") }
        let transfer = transport.transfer(request)
        transfers.append(transfer)
        heads.append(Task { try await transfer.head().status })
        await states.elements(atLeast: index + 1)
      }
      #expect(states.elements == ["0 starts", "1 starts"] + (2..<6).map { "\($0) waits" })
      for index in [3, 0] {
        transfers[index].cancel()
        await #expect(throws: CancellationError.self) { try await heads[index].value }
      }
      await states.elements(atLeast: 7)
      weak let cancelled = transfers[3] as? CurlTransfer
      weak let answered = transfers[1] as? CurlTransfer
      #expect(cancelled != nil && answered != nil)
      // The first one is answered in vain.
      for index in 0..<2 { gates[index].signal() }
      #expect(try await heads[1].value == 200)
      await states.elements(atLeast: 8)
      (transfers, heads) = ([transfers[2], transfers[4], transfers[5]], [heads[2], heads[4], heads[5]])
      #expect(await becomesTrue { cancelled == nil && answered == nil })
      for index in [2, 4, 5] { gates[index].signal() }
      for head in heads { #expect(try await head.value == 200) }
      #expect(states.elements.dropFirst(6) == ["2 starts", "4 starts", "5 starts"])
    }
  }
#endif
