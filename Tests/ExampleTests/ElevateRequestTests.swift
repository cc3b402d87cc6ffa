// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseHTTP
import StepwiseTesting
import Testing

/// The Swift beside Elevate's Ruby requests in Migration.md.
@Suite("Elevate's requests, written with StepwiseHTTP", .timeLimit(.minutes(5)))
struct ElevateRequestTests {
  private static let withoutProxy: Void = LoopbackServer.bypassProxy()
  private let server: LoopbackServer
  private let busy = Recorder<Bool>()

  init() throws {
    Self.withoutProxy
    server = try LoopbackServer { [busy] request in
      busy.record(HTTPActivity.current > 0)
      return switch (request.method, request.path) {
      case ("GET", "/artists"): .ok(Array("[\"\(request.query ?? "")\"]".utf8), contentType: "application/json")
      case ("GET", "/missing"): .text("nothing here", status: 404)
      case ("GET", "/loop"): .redirect(to: "/loop")
      default:
        .text(["Authorization", "Accept"].map { request.header($0) ?? "-" }.joined(separator: " "), status: 201)
      }
    }
  }

  @Test
  func `A body is decoded by its type; a status is no error`() async throws {
    func find(_ url: String) async throws -> [String]? {
      let response = try await HTTP.get(url, query: ["name": "Prince"])
      guard response.status == 200 else { return nil }
      let artists = try response.decoded(as: [String].self)
      return artists
    }
    #expect(try await find(server.address + "/artists") == ["name=Prince"])
    #expect(try await find(server.address + "/missing") == nil)
    #expect(busy.elements == [true, true])
  }

  @Test
  func `A client has credentials and a base, and asks for JSON`() async throws {
    let base = try #require(URL(string: server.address))
    var client = HTTPClient(baseURL: base)
    client.setCredentials(user: "ann", password: "secret")
    let response = try await client.post("tracks", json: ["title": "Kiss"])
    #expect(response.status == 201)
    #expect(response.body == Data("Basic YW5uOnNlY3JldA== application/json".utf8))
  }

  @Test(arguments: ["/loop", "/artists", "gone"])
  func `Errors are cases of one type`(path: String) async throws {
    func problem(_ url: String) async -> String {
      do {
        return "\(try await HTTP.get(url).status)"
      } catch HTTPError.offline {
        return "offline"
      } catch HTTPError.timedOut {
        return "too slow"
      } catch {
        return "\(error)"
      }
    }
    if path == "gone" { server.stop() }
    let text = await problem(server.address + (path == "gone" ? "/" : path))
    switch path {
    case "/artists": #expect(text == "200")
    case "/loop": #expect(text.contains("redirect"))
    default: #expect(text.contains("refuses"))
    }
  }
}
