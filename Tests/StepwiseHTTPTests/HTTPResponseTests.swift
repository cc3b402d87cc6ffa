// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import StepwiseHTTP

/// What a response offers besides its bytes.
@Suite(.timeLimit(.minutes(5))) struct HTTPResponseTests {
  private static let url = URL(filePath: "/")

  @Test(
    arguments: [
      ("text/plain", [0x4B, 0xC3, 0xBC], "Kü"), ("text/plain; charset=utf-8", [0x4B, 0xC3, 0xBC], "Kü"),
      ("text/plain; Charset=\"ISO-8859-1\"", [0x4B, 0xFC, 0x80], "Kü€"), ("text/html;charset=us-ascii", [0x4B], "K"),
      ("text/plain; charset=iso-8859-1", [0x81], "\u{81}"),
      ("text/plain; charset=utf-16", [0x4B, 0, 0xFC, 0, 1], "Kü"), ("text/plain; charset=utf-16be", [0, 0x4B], "K"),
      ("text/plain; charset=latin1", [0xEF, 0xBB, 0xBF, 0x4B], "K"), ("text/plain", [0xFF, 0xFE, 0x4B, 0], "K"),
      ("text/plain", [0xFE, 0xFF, 0, 0x4B], "K"), ("", [0x4B, 0xFF], "K\u{FFFD}"),
      ("text/plain; charset=klingon", [0x4B], "K"), ("text/plain; charset", [], ""),
    ] as [(String, [UInt8], String)]
  )
  func `Text is decoded in its charset`(type: String, bytes: [UInt8], text: String) {
    let response = HTTPResponse(status: 200, headers: ["Content-Type": type], body: Data(bytes), url: Self.url)
    #expect(response.text == text)
  }

  @Test(arguments: [200, 204, 299]) func `A successful response is returned as it is`(status: Int) throws {
    let response = HTTPResponse(status: status, url: Self.url)
    #expect(try response.requireSuccess().status == status)
  }

  @Test
  func `A status error passes the server's Retry-After to a RetryPolicy`() throws {
    let busy = HTTPResponse(status: 503, headers: ["Retry-After": "7"], url: Self.url)
    #expect(HTTPStatusError(response: busy).retryAfter == .seconds(7))
    #expect(HTTPStatusError(response: HTTPResponse(status: 503, url: Self.url)).retryAfter == nil)
  }

  @Test(arguments: [101, 302, 404, 500]) func `An error status is thrown with its response`(status: Int) throws {
    let response = HTTPResponse(
      status: status,
      headers: ["X-Hint": "s3cr3t"],
      body: Data("s3cr3t".utf8),
      url: Self.url
    )
    let error = #expect(throws: HTTPStatusError.self) { try response.requireSuccess() }
    #expect(error?.status == status && error?.response.text == "s3cr3t")
    for text in [error?.description, error?.localizedDescription] {
      #expect(text?.contains("\(status)") == true)
      #expect(text?.contains("s3cr3t") == false)
    }
  }
}
