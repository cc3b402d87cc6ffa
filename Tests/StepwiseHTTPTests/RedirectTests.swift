// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseHTTP
import StepwiseTesting
import Testing

/// Redirects as a server sees them.
@Suite(.timeLimit(.minutes(5))) struct RedirectTests {
  @Test func `Ten redirects are followed and not eleven`() async throws {
    let server = try serve { request in
      let number = Int(request.path.dropFirst()) ?? 0
      return number == 0 ? .text("there") : .redirect(to: "/\(number - 1)")
    }
    let response = try await HTTP.get(server.url("/10"))
    #expect(response.body == Data("there".utf8))
    #expect(try response.url == server.url("/0"))
    await #expect(throws: HTTPError.tooManyRedirects) { try await HTTP.get(server.url("/11")) }
  }

  @Test func `A redirect loop ends`() async throws {
    let server = try serve { _ in .redirect(to: "/") }
    await #expect(throws: HTTPError.tooManyRedirects) { try await HTTP.get(server.url()) }
    #expect(server.requestCount == 11)
  }

  /// URLSession on Linux sends Authorization, other keys and cookies to whatever host it is sent to.
  @Test func `Credentials and cookies do not follow to another origin`() async throws {
    let seen = Recorder<[String]>()
    let secrets = ["authorization", "cookie", "x-api-key"]
    let other = try serve { request in
      seen.record(secrets.compactMap { request.header($0) })
      return .text("other")
    }
    let target = other.address
    let server = try serve { request in
      seen.record(secrets.compactMap { request.header($0) })
      return .redirect(to: target + "/")
    }
    let response = try await HTTP.get(
      server.url(),
      headers: ["Cookie": "a=1", "X-Api-Key": "k"],
      credentials: .bearer("token")
    )
    #expect(response.body == Data("other".utf8))
    #expect(seen.elements == [["Bearer token", "a=1", "k"], []])
  }

  /// URLSession on Linux sends an empty body after 307 and 308.
  @Test(arguments: [307, 308]) func `A redirect keeps the body`(status: Int) async throws {
    let server = try serve { request in
      request.path == "/" ? .redirect(to: "/there", status: status) : .ok(request.body, contentType: request.method)
    }
    let response = try await HTTP.post(server.url(), body: .bytes(Data("precious".utf8)))
    #expect(response.body == Data("precious".utf8))
    #expect(response.headers["Content-Type"] == "POST")
  }

  @Test(arguments: [301, 302, 303]) func `A redirected POST becomes a GET`(status: Int) async throws {
    let server = try serve { request in
      request.path == "/" ? .redirect(to: "/there", status: status) : .ok(request.body, contentType: request.method)
    }
    let response = try await HTTP.post(server.url(), body: .bytes(Data("precious".utf8)))
    #expect(response.body.isEmpty)
    #expect(response.headers["Content-Type"] == "GET")
  }

  @Test func `A redirect that is turned off or refused is a response`() async throws {
    let server = try serve { request in
      switch request.path {
      case "/a": .redirect(to: "/b")
      case "/b": Reply(status: 302, headers: [("Location", "/c")], body: Array("here".utf8))
      default: .text("end")
      }
    }
    let (url, client) = (try server.url("/a"), HTTPClient(baseURL: try server.url()))
    #expect(try await HTTP.get(url, redirects: .never).status == 302)
    var request = HTTPRequest(url: url)
    request.redirects = .never
    #expect(try await HTTP.stream(request).status == 302)
    let seen = Recorder<String>()
    let rule = HTTPRedirects.decide { redirect in
      seen.record("\(redirect.status) \(redirect.url.path) \(redirect.target.path) \(redirect.isSameOrigin)")
      return redirect.target.path != "/c"
    }
    let refused = try await client.get("a", redirects: rule)
    #expect(refused.status == 302 && refused.text == "here" && refused.url.path == "/b")
    #expect(seen.elements == ["302 /a /b true", "302 /b /c true"])
    var other = client
    other.redirects = .never
    #expect(try await other.get("a").status == 302)
    #expect(try await other.get("a", redirects: .follow).text == "end")
  }
}
