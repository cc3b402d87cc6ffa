// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyElevate
import Loopback
import StepwiseTesting
import Testing

import enum StepwiseHTTP.HTTPError

/// Elevate's specs of `HTTP::Request` and `HTTP::ActivityIndicator`, in Swift, each under its own sentence.
@Suite(.timeLimit(.minutes(5)))
struct ElevateRequestSpecTests {
  private let server: LoopbackServer
  private let asked = Recorder<Bool>()
  private var url: String { server.address + "/" }

  init() throws {
    withoutProxy
    server = try LoopbackServer { [asked] request in
      switch request.path {
      case "/endless":
        asked.record(true)
        return .text("late").pausing(.seconds(86_400))
      case "/token": return .text(request.header("API-Token") ?? "none")
      case "/created": return .text("hello", status: 201)
      default: return .text(String(decoding: request.body, as: UTF8.self))
      }
    }
  }

  @available(*, deprecated)
  @Test("Requires a valid HTTP method, and a URL starting with http")
  func arguments() {
    #expect(throws: ArgumentError.self) { try HTTP.Request("invalid", url) }
    #expect(throws: ArgumentError.self) { try HTTP.Request("get", "asdf") }
    for method in HTTP.Request.methods { #expect(throws: Never.self) { try HTTP.Request(method, url) } }
  }

  @available(*, deprecated)
  @Test("A GET request's response has the status, body and headers, and no error")
  func getRequest() async throws {
    let request = try HTTP.Request("get", url + "created")
    #expect(!request.isSent)
    let response = try #require(await request.response)
    #expect(request.isSent)
    #expect(response.statusCode == 201)
    #expect(response.body as? Data == Data("hello".utf8))
    #expect(response.headers["Content-Type"]?.hasPrefix("text/plain") == true)
    #expect(response.error == nil)
    _ = await request.response
    #expect(server.requestCount == 1)
  }

  @available(*, deprecated)
  @Test("Includes the headers and the body in the request")
  func headersAndBody() async throws {
    let request = try HTTP.Request("get", url + "token", headers: ["API-Token": "abc123"])
    #expect(await request.response?.rawBody == Data("abc123".utf8))
    let post = try HTTP.Request("post", url, body: Data("hello".utf8))
    #expect(await post.response?.rawBody == Data("hello".utf8))
  }

  @available(*, deprecated)
  @Test("Cancelling aborts the request and sets the response to nil")
  func cancelling() async throws {
    let request = try HTTP.Request("get", url + "endless")
    request.cancel()
    request.send()
    await asked.elements(atLeast: 1)
    request.cancel()
    #expect(await request.response == nil)
  }

  @available(*, deprecated)
  @Test("A request without a response has an error")
  func failing() async throws {
    let address = url
    server.stop()
    let response = try #require(await HTTP.Request("get", address).response)
    #expect((response.error as? RequestError)?.code == NSURLErrorCannotConnectToHost)
    #expect(response.statusCode == 0)
  }

  @available(*, deprecated)
  @Test("An offline connection raises an OfflineError, which is a RequestError; a request's timeout is a RequestError")
  func offline() {
    let error = ElevateErrors.old(HTTPError.offline) as any Error
    #expect(error is OfflineError)
    #expect((error as? RequestError)?.code == NSURLErrorNotConnectedToInternet)
    #expect((ElevateErrors.old(HTTPError.timedOut(.total)) as? RequestError)?.code == NSURLErrorTimedOut)
  }

  @available(*, deprecated)
  @Test("instance returns a singleton instance")
  func singleton() {
    #expect(HTTP.ActivityIndicator.instance === HTTP.ActivityIndicator.instance)
  }

  @available(*, deprecated)
  @Test("hide does nothing if it isn't shown, and hides only if there are no outstanding show requests")
  func indicator() {
    let indicator = HTTP.ActivityIndicator()
    indicator.hide()
    #expect(!indicator.isVisible)
    indicator.show()
    #expect(indicator.isVisible)
    indicator.show()
    indicator.hide()
    #expect(indicator.isVisible)
    indicator.hide()
    #expect(!indicator.isVisible)
  }

  // Other tests may have requests in flight: the indicator is that of the process.
  @available(*, deprecated)
  @Test("A request in flight shows the activity indicator")
  func requestShowsIndicator() async throws {
    let request = try HTTP.Request("get", url + "endless")
    request.send()
    await asked.elements(atLeast: 1)
    #expect(HTTP.ActivityIndicator.instance.isVisible)
    request.cancel()
    #expect(await request.response == nil)
  }
}
