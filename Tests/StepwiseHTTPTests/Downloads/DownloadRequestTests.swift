// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import StepwiseHTTP

/// What responses mean for a download.
@Suite(.timeLimit(.minutes(5))) struct DownloadRequestTests {
  private static func tag(total: Int64?) throws -> DownloadTag {
    let head = HTTPResponseHead(status: 200, headers: ["ETag": "\"v1\""])
    let url = try #require(URL(string: "http://example.org/"))
    return try #require(DownloadTag(head, from: url, total: total))
  }

  typealias Case = (request: String, status: Int, headers: HTTPHeaders, verdict: DownloadRequest.Verdict)

  static let cases: [Case] = [
    ("whole", 200, ["Content-Length": "9"], .begin(total: 9)), ("whole", 203, [:], .begin(total: nil)),
    ("whole", 206, ["Content-Range": "bytes 0-8/9"], .fail(TransferFailure.wrongRange)),
    ("whole", 416, [:], .refuse), ("whole", 404, [:], .refuse), ("whole", 302, [:], .refuse),
    ("rest", 200, ["Content-Length": "9"], .begin(total: 9)), ("rest", 503, [:], .refuse),
    ("rest", 206, ["Content-Range": "bytes 100-299/300"], .append(end: 300, total: 300)),
    ("rest", 206, ["Content-Range": "bytes 100-199/300"], .append(end: 200, total: 300)),
    ("rest", 206, ["Content-Range": "bytes 100-299/*"], .append(end: 300, total: nil)),
    ("rest", 206, ["Content-Range": "bytes 100-299/300", "ETag": "\"v1\""], .append(end: 300, total: 300)),
    // The server ignores If-Range, and has another file.
    ("rest", 206, ["Content-Range": "bytes 100-299/300", "ETag": "\"v2\""], .restart),
    ("rest", 206, ["Content-Range": "bytes 100-300/301"], .restart),
    ("rest", 206, ["Content-Range": "bytes 99-299/300"], .restart), ("rest", 206, [:], .restart),
    ("rest", 416, ["Content-Range": "bytes */300"], .restart),
    ("rest", 416, ["Content-Range": "bytes */100"], .restart),
    ("all", 416, ["Content-Range": "bytes */300"], .complete), ("all", 416, [:], .complete),
    ("all", 416, ["Content-Range": "bytes */299"], .restart),
    ("all", 416, ["Content-Range": "bytes */300", "ETag": "\"v2\""], .restart),
    ("unknown", 416, ["Content-Range": "bytes */300"], .complete), ("unknown", 416, [:], .restart),
    ("segment", 206, ["Content-Range": "bytes 100-199/300"], .append(end: 200, total: 300)),
    ("segment", 206, ["Content-Range": "bytes 100-149/300"], .append(end: 150, total: 300)),
    ("segment", 206, ["Content-Range": "bytes 100-200/300"], .restart),
  ]

  @Test(arguments: cases.indices) func aResponseIsJudgedByItsHead(index: Int) throws {
    let (name, status, headers, verdict) = Self.cases[index]
    let request: DownloadRequest =
      switch name {
      case "rest": .part(start: 100, end: nil, try Self.tag(total: 300))
      case "all": .part(start: 300, end: nil, try Self.tag(total: 300))
      case "unknown": .part(start: 300, end: nil, try Self.tag(total: nil))
      case "segment": .part(start: 100, end: 200, try Self.tag(total: 300))
      default: .whole
      }
    #expect(request.verdict(HTTPResponseHead(status: status, headers: headers)) == verdict)
  }

  @Test func aRangeNamesItsLastByte() throws {
    let tag = try Self.tag(total: 300)
    #expect(DownloadRequest.part(start: 100, end: 200, tag).headers["Range"] == "bytes=100-199")
    #expect(DownloadRequest.part(start: 100, end: nil, tag).headers["Range"] == "bytes=100-")
    #expect(DownloadRequest.part(start: 100, end: nil, tag).headers["If-Range"] == "\"v1\"")
    #expect(DownloadRequest.whole.headers.fields.isEmpty)
  }
}
