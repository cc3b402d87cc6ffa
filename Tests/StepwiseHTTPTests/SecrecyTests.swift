// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseHTTP
import Testing

/// Credentials are in no error and in no description.
@Suite(.timeLimit(.minutes(5))) struct SecrecyTests {
  private static let secret = "s3cr3t"

  private static func texts(_ value: Any) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    return [String(describing: value), String(reflecting: value), dumped, "\([value])"]
  }

  @Test func `Descriptions hide secrets`() throws {
    let url = try #require(URL(string: "http://user:\(Self.secret)@example.org/"))
    let headers: HTTPHeaders = [
      "Authorization": Self.secret, "cookie": Self.secret, "Set-Cookie": Self.secret, "X-API-KEY": Self.secret,
      "Shown": "yes",
    ]
    let values: [Any] = [
      HTTPCredentials.basic(user: "u", password: Self.secret), HTTPCredentials.bearer(Self.secret), headers,
      HTTPClient(baseURL: url), HTTPClient(baseURL: url, headers: headers, credentials: .bearer(Self.secret)),
      HTTPResponse(status: 200, headers: headers, url: URL(filePath: "/")), ["password": Self.secret] as HTTPParameters,
    ]
    for value in values {
      for text in Self.texts(value) { #expect(!text.contains(Self.secret), "\(type(of: value))") }
    }
    #expect(String(describing: headers).contains("Shown: yes"))
    #expect(HTTPClient(baseURL: url).baseURL.absoluteString == "http://example.org/")
  }

  @Test func `Errors and responses hide secrets`() async throws {
    let server = try serve { request in
      switch request.path {
      case "/short": return Reply.text("x").declaring(.claimed(10))
      case "/close": return .silent
      case "/loop": return .redirect(to: "http://user:\(Self.secret)@127.0.0.1/loop")
      default: return .text("ok")
      }
    }
    let port = server.port
    let addresses = [
      "http://user:\(Self.secret)@127.0.0.1:\(port)/short", "http://user:\(Self.secret)@127.0.0.1:\(port)/close",
      "http://user:\(Self.secret)@127.0.0.1:1/", "http://user:\(Self.secret)@127.0.0.1:\(port)/loop",
      "http://u:\(Self.secret)@no.such.host.invalid/", "ftp://user:\(Self.secret)@example.org/",
      "http://user:\(Self.secret)@127.0.0.1:99999/", "http://user:\(Self.secret)@127.0.0.1:\(port)/ok",
    ]
    for address in addresses {
      do {
        let response = try await HTTP.get(address, headers: ["X-Auth-Token": Self.secret])
        for text in Self.texts(response) { #expect(!text.contains(Self.secret), "\(address)") }
      } catch {
        for text in Self.texts(error) + [error.localizedDescription] {
          #expect(!text.contains(Self.secret), "\(address)")
        }
        #expect(error is HTTPError)
      }
    }
    do {
      _ = try await HTTP.get("http://127.0.0.1:\(port)/", headers: ["Authorization": "\(Self.secret)\r\nX: 1"])
    } catch {
      for text in Self.texts(error) { #expect(!text.contains(Self.secret)) }
    }
  }
}
