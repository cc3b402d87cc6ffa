// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseHTTP
import StepwiseTesting
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Each piece of new code of Migration.md about requests, beside the old code: both do the same.
@Suite(.timeLimit(.minutes(5)))
struct RequestPairTests {
  private let server: LoopbackServer
  private let busy = Recorder<[Bool]>()

  @available(*, deprecated)
  init() throws {
    withoutProxy
    server = try LoopbackServer { [busy] request in
      if request.path == "/busy" { busy.record([OldRequests.isBusy(), RequestPairTests.isBusy()]) }
      if request.path == "/loop" { return .redirect(to: "/loop") }
      if request.method == "POST" {
        return .text(([request.header("Authorization"), request.header("Accept")].map { $0 ?? "-" }).joined())
      }
      return .ok(Array("[\"\(request.query ?? "")\"]".utf8), contentType: "application/json")
    }
  }

  @available(*, deprecated)
  @Test func aBodyIsDecodedByItsType() async throws {
    let url = server.address + "/tracks"
    let response = try await HTTP.get(url, query: ["name": "Prince"])
    let tracks = try response.decoded(as: [String].self)
    #expect(tracks == ["name=Prince"])
    #expect(try await OldRequests.tracks(url) == tracks)
  }

  @available(*, deprecated)
  @Test func aClientHasCredentials() async throws {
    let base = try #require(URL(string: server.address))
    var client = HTTPClient(baseURL: base)
    client.setCredentials(user: "ann", password: "secret")
    let response = try await client.post("tracks", json: ["title": "Kiss"])
    let old = try await OldRequests.create(server.address)
    #expect(response.status == 200)
    #expect(old.0 == response.status)
    #expect(old.1 == String(decoding: response.body, as: UTF8.self))
  }

  @available(*, deprecated)
  @Test(arguments: ["/loop", "/tracks", "gone"])
  func errorsAreCasesOfOneType(path: String) async throws {
    let url = server.address + path
    if path == "gone" { server.stop() }
    let problem = await Self.problem(path == "gone" ? server.address : url)
    #expect(problem == ["/loop": "code -1007", "/tracks": "200", "gone": "code -1004"][path])
    #expect(await OldRequests.problem(path == "gone" ? server.address : url) == problem)
  }

  private static func problem(_ url: String) async -> String {
    do {
      return try await "\(HTTP.get(url).status)"
    } catch HTTPError.offline {
      return "offline"
    } catch HTTPError.timedOut {
      return "too slow"
    } catch HTTPError.tooManyRedirects {
      return "code \(URLError.Code.httpTooManyRedirects.rawValue)"
    } catch HTTPError.connectionRefused {
      return "code \(URLError.Code.cannotConnectToHost.rawValue)"
    } catch {
      return "\(error)"
    }
  }

  @available(*, deprecated)
  @Test func requestsInFlightAreCounted() async throws {
    _ = try await HTTP.get(server.address + "/busy")
    #expect(busy.elements == [[true, true]])
  }

  private static func isBusy() -> Bool {
    let isBusy = HTTPActivity.current > 0
    return isBusy
  }
}
