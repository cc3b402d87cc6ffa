// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseHTTP
import StepwiseTesting
import Testing

/// The samples on HTTP of the module's page.
@Suite(.timeLimit(.minutes(5)))
struct ReadmeHTTPTests {
  private static let withoutProxy: Void = LoopbackServer.bypassProxy()

  private static func serve() throws -> LoopbackServer {
    withoutProxy
    return try LoopbackServer { request in
      switch (request.method, request.path) {
      case ("GET", "/tracks"): .text(request.query == "name=Prince" ? "[\"Kiss\"]" : "[]")
      case ("POST", "/tracks"): .text(request.header("Authorization") ?? "-", status: 201)
      case (_, "/slow"): LoopbackServer.Reply.text("late").pausing(.seconds(3600))
      case (_, "/busy"): LoopbackServer.Reply(status: 503, headers: [("Retry-After", "30")])
      default: .text("content")
      }
    }
  }

  @Test func `A request gets and decodes a value`() async throws {
    func find(_ address: String) async throws -> [String]? {
      let response = try await HTTP.get(address, query: ["name": "Prince"])
      guard response.isSuccess else { return nil }
      let tracks = try response.decoded(as: [String].self)
      return tracks
    }
    let server = try Self.serve()
    #expect(try await find(server.address + "/tracks") == ["Kiss"])
    #expect(try await find(server.address + "/busy") == nil)
  }

  @Test func `A client sends requests`() async throws {
    let server = try Self.serve()
    let base = try #require(URL(string: server.address))
    let password = "1999"
    var client = HTTPClient(baseURL: base)
    client.credentials = .basic(user: "prince", password: password)
    let created = try await client.post("tracks", json: ["title": "Kiss"])
    #expect(created.status == 201)
    #expect(created.body == Data("Basic cHJpbmNlOjE5OTk=".utf8))
  }

  @Test func `Requests keep their deadlines`() async throws {
    @Sendable func load(_ address: String) async throws -> Data? {
      do {
        return try await HTTP.get(address, deadlines: HTTPDeadlines(headers: .seconds(60), total: .seconds(120))).body
      } catch HTTPError.timedOut {
        return nil
      }
    }
    let server = try Self.serve()
    #expect(try await load(server.address) == Data("content".utf8))
    let address = server.address + "/slow"
    await #expect(throws: HTTPError.timedOut(.headers)) {
      try await HTTP.get(address, deadlines: HTTPDeadlines(headers: .milliseconds(10)))
    }
  }

  @Test(arguments: ["/file", "/busy"]) func `A download is written to a file`(path: String) async throws {
    let server = try Self.serve()
    let address = server.address + path
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("readme-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    let shown = Recorder<String>()
    let show = Printer(printed: shown)
    let response = try await HTTP.download(address, to: file) { progress in
      show(progress.fractionCompleted ?? 0)
    }
    if let pause = response.retryAfter() { show("try again in \(pause)") }
    #expect(shown.elements.last == (path == "/file" ? "1.0" : "try again in 30.0 seconds"))
    try? FileManager.default.removeItem(atPath: file.path + ".part")
  }
}
