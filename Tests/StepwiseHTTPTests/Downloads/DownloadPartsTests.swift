// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import StepwiseHTTP

/// What downloads read in headers and in their own small file.
@Suite(.timeLimit(.minutes(5))) struct DownloadPartsTests {
  @Test(
    arguments: [
      ("bytes 0-9/10", 0, 9, 10), ("Bytes 5-9/*", 5, 9, nil), ("bytes 100-199/1000", 100, 199, 1_000),
    ] as [(String, Int64, Int64, Int64?)]
  )
  func `Content ranges are parsed`(text: String, start: Int64, end: Int64, total: Int64?) throws {
    let range = try #require(ContentRange(text))
    #expect(range.start == start && range.end == end && range.total == total)
  }

  @Test(arguments: [
    nil, "", "bytes", "bytes */10", "bytes 9-0/10", "bytes 0-9", "bytes 0-10/10", "bytes 0-9/x", "bytes -9/10",
    "0-9/10",
    "bytes a-b/c", "bytes 0-99999999999999999999/*",
  ])
  func `Invalid content ranges are refused`(text: String?) {
    #expect(ContentRange(text) == nil)
  }

  @Test func `A tag is for one URL and is complete`() throws {
    let url = try #require(URL(string: "http://example.org/file?token=secret"))
    let other = try #require(URL(string: "http://example.org/file"))
    let tag = try #require(DownloadTag(HTTPResponseHead(status: 200, headers: ["etag": "\"v1\""]), from: url))
    #expect(DownloadTag(text: tag.text, for: url) == tag)
    #expect(DownloadTag(text: tag.text, for: other) == nil)
    #expect(DownloadTag(text: String(tag.text.dropLast()), for: url) == nil)
    #expect(DownloadTag(text: "", for: url) == nil)
    #expect(!tag.text.contains("secret"))
  }

  @Test func `A tag stores the length`() throws {
    let url = try #require(URL(string: "http://example.org/file"))
    let head = HTTPResponseHead(status: 200, headers: ["ETag": "\"v1\""])
    let tag = try #require(DownloadTag(head, from: url, total: 1_000))
    #expect(DownloadTag(text: tag.text, for: url) == tag)
    for length in 0..<tag.text.count {
      #expect(DownloadTag(text: String(tag.text.prefix(length)), for: url) == nil, "\(length)")
    }
  }

  /// The file of an earlier version of the library may have gaps.
  @Test func `A tag with segments is refused`() throws {
    let url = try #require(URL(string: "http://example.org/file"))
    let tag = try #require(DownloadTag(HTTPResponseHead(status: 200, headers: ["ETag": "\"v1\""]), from: url, total: 9))
    let text = tag.text.replacingOccurrences(of: "\n9\n", with: "\n9 2\n0 4 4\n4 9 5\n")
    #expect(text != tag.text && DownloadTag(text: text, for: url) == nil)
  }

  @Test(
    arguments: [
      ("120", 120.0), ("0", 0), (" 7 ", 7), ("Sun, 06 Nov 1994 08:49:37 GMT", 7), ("Sunday, 06-Nov-94 08:49:37 GMT", 7),
      ("Sun Nov  6 08:49:37 1994", 7), ("Sun, 06 Nov 1994 08:49:00 GMT", 0), ("-5", nil), ("soon", nil), ("", nil),
      ("1.5", nil), ("99999999999999999999", nil),
    ] as [(String, Double?)]
  )
  func `Retry-After is parsed`(text: String, seconds: Double?) throws {
    let url = try #require(URL(string: "http://example.org/"))
    let response = HTTPResponse(status: 503, headers: ["Retry-After": text], url: url)
    let now = Date(timeIntervalSince1970: 784_111_770)
    #expect(response.retryAfter(now: now) == seconds.map { .seconds($0) })
    #expect(HTTPResponse(status: 503, url: url).retryAfter() == nil)
  }
}
