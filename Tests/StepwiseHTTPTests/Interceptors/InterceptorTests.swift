// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// The closure around a client's requests.
@Suite(.timeLimit(.minutes(5))) struct InterceptorTests {
  @Test func `An interceptor changes requests and responses, and may resend`() async throws {
    let seen = Recorder<String>()
    let server = try serve { request in
      let token = request.header("X-Token") ?? "-"
      seen.record("\(request.method) \(request.path) \(token) \(String(decoding: request.body, as: UTF8.self))")
      return .text("body", status: token == "2" ? 200 : 401)
    }
    var client = HTTPClient(baseURL: try server.url())
    client.interceptor = { request, send in
      var request = request
      request.headers["X-Token"] = "1"
      let first = try await send(request)
      guard first.status == 401 else { return first }
      request.headers["X-Token"] = "2"
      return try await send(request)
    }
    let response = try await client.post("a", json: ["x": 1])
    #expect(response.status == 200 && response.text == "body")
    var text = Data()
    for try await chunk in try await client.stream("b").body { text += chunk }
    #expect(text == Data("body".utf8))
    #expect(seen.elements == ["POST /a 1 {\"x\":1}", "POST /a 2 {\"x\":1}", "GET /b 1 ", "GET /b 2 "])
  }

  @Test func `What an interceptor makes of a request is checked as any other`() async throws {
    let server = try serve { _ in .text("unasked") }
    var client = HTTPClient(baseURL: try server.url())
    client.interceptor = { request, send in
      var request = request
      request.headers["X-Evil"] = "a\r\nX: 1"
      return try await send(request)
    }
    await #expect(throws: HTTPError.refused(reason: "")) { try await client.get() }
    #expect(server.requestCount == 0)
  }

  @Test func `An interceptor may respond without the network`() async throws {
    let url = try #require(URL(string: "http://127.0.0.1:9/"))
    var client = HTTPClient(baseURL: url)
    client.interceptor = { request, _ in
      HTTPResponseStream(status: 203, url: request.url, body: HTTPBodyStream([Data(count: 3), Data(count: 3)]))
    }
    #expect(try await client.get(bodyLimit: 6).body.count == 6)
    await #expect(throws: HTTPError.bodyTooLarge(limit: 5)) { try await client.get(bodyLimit: 5) }
  }

  @Test func `Cancelling a request ends the call of send`() async throws {
    let (requested, ends) = (Recorder<Bool>(), Recorder<Bool>())
    let server = try serve { _ in
      requested.record(true)
      return Reply.text("late").pausing(.seconds(3600)).onEnd { ends.record($0) }
    }
    var client = HTTPClient(baseURL: try server.url())
    client.interceptor = { request, send in try await send(request) }
    let request = Task { [client] in try await client.get() }
    await requested.elements(atLeast: 1)
    request.cancel()
    await #expect(throws: CancellationError.self) { try await request.value }
    #expect(await ends.elements(atLeast: 1) == [false])
  }
}
