// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyElevate
import Loopback
import StepwiseTesting
import Testing

/// Elevate's HTTP client, with a server on this machine.
@Suite(.timeLimit(.minutes(5)))
struct ElevateHTTPTests {
  private let server: LoopbackServer
  /// Requests for an answer that does not come.
  private let asked = Recorder<Bool>()
  private static let json = Array(#"{"artist": "Prince", "tracks": [1, 2]}"#.utf8)

  init() throws {
    withoutProxy
    server = try LoopbackServer { [asked] request in
      switch request.path {
      case "/json": return .ok(Self.json, contentType: "application/json; charset=utf-8")
      case "/torn": return .ok(Array("{".utf8), contentType: "application/json")
      case "/moved": return .redirect(to: "/json")
      case "/loop": return .redirect(to: "/loop")
      case "/missing": return .text("nothing here", status: 404)
      case "/endless":
        asked.record(true)
        return .text("late").pausing(.seconds(86_400))
      default: return Self.echo(request)
      }
    }
  }

  /// What came, a line for each thing.
  private static func echo(_ request: LoopbackServer.Request) -> LoopbackServer.Reply {
    var lines = ["\(request.method) \(request.path) \(request.query ?? "-")"]
    lines += ["Accept", "Authorization", "Content-Type", "X-Test"].map { "\($0): \(request.header($0) ?? "-")" }
    lines.append(String(decoding: request.body, as: UTF8.self))
    return .text(lines.joined(separator: "\n"))
  }

  @available(*, deprecated)
  private static func lines(_ response: Response) -> [String] {
    String(decoding: response.rawBody, as: UTF8.self).components(separatedBy: "\n")
  }

  @available(*, deprecated)
  @Test func aBodyOfJSONIsDecoded() async throws {
    let response = try await HTTP.get(server.address + "/json")
    let body = try #require(response.body as? [String: Any])
    #expect(body["artist"] as? String == "Prince")
    #expect(body["tracks"] as? [Int] == [1, 2])
    #expect(String(decoding: response.rawBody, as: UTF8.self).hasPrefix("{"))
    #expect(response.statusCode == 200)
    #expect(response.headers["Content-Type"] == "application/json; charset=utf-8")
    #expect(response.error == nil)
  }

  @available(*, deprecated)
  @Test func anotherBodyIsItsBytes() async throws {
    let response = try await HTTP.get(server.address + "/missing")
    #expect(response.statusCode == 404)
    #expect(response.body as? Data == Data("nothing here".utf8))
    let torn = try await HTTP.get(server.address + "/torn")
    #expect(torn.body as? Data == Data("{".utf8))
    #expect(torn.error != nil)
  }

  @available(*, deprecated)
  @Test func redirectsAreFollowedAndLoopsAreAnError() async throws {
    let response = try await HTTP.get(server.address + "/moved")
    #expect(response.url == server.address + "/json")
    #expect(response.modern.url.path == "/json")
    let error = await #expect(throws: RequestError.self) { try await HTTP.get(server.address + "/loop") }
    #expect(error?.code == NSURLErrorHTTPTooManyRedirects)
  }

  @available(*, deprecated)
  @Test func everyMethodSendsWhatItIsGiven() async throws {
    let url = server.address + "/echo"
    let headers = ["X-Test": "yes"]
    let responses = [
      try await HTTP.get(url, query: ["b": 2, "a": "y z"], headers: headers),
      try await HTTP.post(url, json: ["artist": "Prince"] as [String: Any]),
      try await HTTP.put(url, form: ["name": "a b", "n": 1]),
      try await HTTP.delete(url, credentials: ["username": "ann", "password": "secret"]),
      try await HTTP.patch(url, headers: ["Content-Type": "text/plain"], body: Data("bytes".utf8)),
      try await HTTP.options(url),
    ]
    let lines = responses.map(Self.lines)
    #expect(
      lines.map(\.[0]) == [
        "GET /echo b=2&a=y+z", "POST /echo -", "PUT /echo -", "DELETE /echo -", "PATCH /echo -",
        "OPTIONS /echo -",
      ]
    )
    #expect(lines[0][4] == "X-Test: yes")
    #expect(lines[1].suffix(3) == ["Content-Type: application/json", "X-Test: -", #"{"artist":"Prince"}"#])
    #expect(lines[2].suffix(3) == ["Content-Type: application/x-www-form-urlencoded", "X-Test: -", "name=a%20b&n=1"])
    #expect(lines[3][2] == "Authorization: Basic " + Data("ann:secret".utf8).base64EncodedString())
    #expect(lines[4].suffix(3) == ["Content-Type: text/plain", "X-Test: -", "bytes"])
    let head = try await HTTP.head(url)
    #expect(head.statusCode == 200 && head.rawBody.isEmpty)
  }

  @available(*, deprecated)
  @Test func aClientHasABaseAndCredentialsAndAsksForJSON() async throws {
    let client = HTTPClient(server.address + "/api/")
    client.setCredentials(username: "ann", password: "secret")
    let responses = [
      try await client.get("tracks", query: ["q": "x"]), try await client.post("tracks", json: [1]),
      try await client.put("tracks"), try await client.delete("tracks"), try await client.patch("tracks"),
      try await client.options("tracks", headers: ["Accept": "text/plain"]),
    ]
    let lines = responses.map(Self.lines)
    #expect(
      lines.map(\.[0]) == [
        "GET /api/tracks q=x", "POST /api/tracks -", "PUT /api/tracks -", "DELETE /api/tracks -", "PATCH /api/tracks -",
        "OPTIONS /api/tracks -",
      ]
    )
    #expect(lines.map(\.[1]) == Array(repeating: "Accept: application/json", count: 5) + ["Accept: text/plain"])
    let authorization = "Authorization: Basic " + Data("ann:secret".utf8).base64EncodedString()
    #expect(lines.allSatisfy { $0[2] == authorization })
    #expect(try await client.head("tracks").statusCode == 200)
    #expect(client.modern.baseURL.path.hasPrefix("/api"))
  }

  // On Linux URLSession has no way to do it, and StepwiseHTTP none anywhere: it is refused, and nothing is sent.
  @available(*, deprecated)
  @Test func whatCannotBeHadIsRefused() async throws {
    let url = server.address + "/echo"
    let untrusted = await #expect(throws: RequestError.self) {
      try await HTTP.get(url, allowSelfSignCertificate: true)
    }
    #expect(untrusted?.code == -1202)
    #expect(untrusted?.description.contains("allowSelfSignCertificate") == true)
    await #expect(throws: RequestError.self) { try await HTTPClient(url).get(allowSelfSignCertificate: true) }
    await #expect(throws: RequestError.self) { try await HTTP.post(url, json: [Date()]) }
    await #expect(throws: RequestError.self) { try await HTTP.post(url, credentials: ["user": "ann"]) }
    await #expect(throws: RequestError.self) { try await HTTPClient("no address").get("x") }
    let invalid = await #expect(throws: RequestError.self) { try await HTTP.get("ftp://example.org/") }
    #expect(invalid?.code == NSURLErrorBadURL)
    #expect(server.requestCount == 0)
  }

  // URLSession fails such a GET with this code since iOS 13, below the original, too.
  @available(*, deprecated)
  @Test func aBodyInAGETOrHEADRequestIsRefused() async throws {
    let url = server.address + "/echo"
    for function in [HTTP.get, HTTP.head, HTTPClient(url).get] {
      let error = await #expect(throws: RequestError.self) { try await function(url, body: Data("text".utf8)) }
      #expect(error?.code == NSURLErrorDataLengthExceedsMaximum)
    }
    let response = try await HTTP.Request("get", url, json: ["a": 1]).response
    #expect((response?.error as? RequestError)?.code == NSURLErrorDataLengthExceedsMaximum)
    #expect(server.requestCount == 0)
    #expect(try await HTTP.delete(url, body: Data("text".utf8)).statusCode == 200)
  }

  @available(*, deprecated)
  @Test func aServerThatIsNotThereIsARequestError() async throws {
    let address = server.address
    server.stop()
    let error = await #expect(throws: RequestError.self) { try await HTTP.get(address + "/json") }
    #expect(error?.code == NSURLErrorCannotConnectToHost)
  }

  @available(*, deprecated)
  @Test func aCancelRaisesCancelledErrorInARequest() async throws {
    let thrown = Recorder<String>()
    let controller = Controller()
    let url = server.address + "/endless"
    let task = controller.request(url, telling: thrown)
    await asked.elements(atLeast: 1)
    task.cancel()
    #expect(await task.ended())
    #expect(thrown.elements == ["CancelledError"])
    #expect(controller.screen.lines == [])
  }

  @available(*, deprecated)
  @Test func aTimeoutEndsARequest() async throws {
    let thrown = Recorder<String>()
    let controller = Controller()
    let task = controller.request(server.address + "/endless", telling: thrown)
    await asked.elements(atLeast: 1)
    await controller.clock.sleepers(atLeast: 1)
    controller.clock.advance(by: .seconds(30))
    #expect(await task.ended() == false)
    #expect(controller.screen.lines == ["timeout", "TimeoutError"])
  }

  // The count is that of the process: other tests may have requests in flight.
  @available(*, deprecated)
  @Test func theActivityIsCounted() async throws {
    let task = Controller().request(server.address + "/endless", telling: Recorder())
    await asked.elements(atLeast: 1)
    #expect(HTTP.activityCount >= 1)
    task.cancel()
    await task.ended()
  }

  @available(*, deprecated)
  private final class Controller: Elevate {
    let (screen, clock) = (Screen(), ManualClock())

    func request(_ url: String, telling thrown: Recorder<String>) -> ElevateTask {
      let screen = screen
      return async(["url": url]) {
        timeout(30, clock: clock)
        task {
          do {
            return try await HTTP.get(taskArgs.value("url"))
          } catch {
            thrown.record("\(type(of: error))")
            throw error
          }
        }
        onTimeout { screen.show("timeout") }
        onFinish { _, error in screen.show(error.map { "\(type(of: $0))" } ?? "") }
      }
    }
  }
}
