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
    ("whole", 200, ["Content-Length": "9"], .write(from: 0, total: 9)),
    ("whole", 203, [:], .write(from: 0, total: nil)),
    ("whole", 416, [:], .refuse), ("whole", 404, [:], .refuse), ("whole", 302, [:], .refuse),
    ("rest", 200, ["Content-Length": "9"], .write(from: 0, total: 9)), ("rest", 503, [:], .refuse),
    ("rest", 206, ["Content-Range": "bytes 100-299/300"], .write(from: 100, to: 300, total: 300)),
    ("rest", 206, ["Content-Range": "bytes 100-199/300"], .write(from: 100, to: 200, total: 300)),
    ("rest", 206, ["Content-Range": "bytes 100-299/*"], .write(from: 100, to: 300, total: 300)),
    ("rest", 206, ["Content-Range": "bytes 100-199/*"], .write(from: 100, to: 200, total: 300)),
    ("rest", 206, ["Content-Range": "bytes 100-299/300", "ETag": "\"v1\""], .write(from: 100, to: 300, total: 300)),
    ("start", 206, ["Content-Range": "bytes 100-299/*"], .write(from: 100, to: 300, total: 300)),
    ("rest", 206, ["Content-Range": "bytes 100-300/*"], .restart),
    ("rest", 206, ["Content-Range": "bytes 100-299/300", "Content-Encoding": "gzip"], .restart),
    // The server ignores If-Range, and has another file.
    ("rest", 206, ["Content-Range": "bytes 100-299/300", "ETag": "\"v2\""], .restart),
    ("rest", 206, ["Content-Range": "bytes 100-300/301"], .restart),
    ("rest", 206, ["Content-Range": "bytes 99-299/300"], .restart), ("rest", 206, [:], .restart),
    ("rest", 416, ["Content-Range": "bytes */300"], .restart),
    ("rest", 416, ["Content-Range": "bytes */100"], .restart),
    ("all", 416, ["Content-Range": "bytes */300"], .complete(300)), ("all", 416, [:], .complete(300)),
    ("all", 416, ["Content-Range": "bytes */299"], .restart),
    ("all", 416, ["Content-Range": "bytes */300", "ETag": "\"v2\""], .restart),
    ("unknown", 416, ["Content-Range": "bytes */300"], .complete(300)), ("unknown", 416, [:], .restart),
  ]

  @Test(arguments: cases.indices) func `A response is judged by its head`(index: Int) throws {
    let (name, status, headers, verdict) = Self.cases[index]
    let request: DownloadRequest =
      switch name {
      case "rest": .rest(start: 100, try Self.tag(total: 300))
      case "all": .rest(start: 300, try Self.tag(total: 300))
      case "start": .rest(start: 100, try Self.tag(total: nil))
      case "unknown": .rest(start: 300, try Self.tag(total: nil))
      default: .whole
      }
    #expect(try request.verdict(HTTPResponseHead(status: status, headers: headers)) == verdict)
  }

  @Test func `A part of a file that was requested as a whole is an error`() {
    let head = HTTPResponseHead(status: 206, headers: ["Content-Range": "bytes 0-8/9"])
    #expect(throws: HTTPError.wrongRange) { try DownloadRequest.whole.verdict(head) }
  }

  @Test func `A range request is conditional`() throws {
    let tag = try Self.tag(total: 300)
    #expect(DownloadRequest.rest(start: 100, tag).headers["Range"] == "bytes=100-")
    #expect(DownloadRequest.rest(start: 100, tag).headers["If-Range"] == "\"v1\"")
    #expect(DownloadRequest.whole.headers.fields.isEmpty)
  }
}
