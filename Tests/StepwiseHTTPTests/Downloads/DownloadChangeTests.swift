// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// Servers that send the rest of something else.
@Suite(.timeLimit(.minutes(5))) struct DownloadChangeTests {
  private static let now = "Wed, 09 Jun 2027 10:18:14 GMT"

  /// It honours `Range` and knows nothing of `If-Range`: only what the answer says of itself tells the two files apart.
  @Test(arguments: ["ETag", "Last-Modified"]) func `Part of another file is not appended`(name: String) async throws {
    let times = ["Wed, 09 Jun 2027 10:18:10 GMT", "Wed, 09 Jun 2027 10:18:11 GMT"]
    let values = name == "ETag" ? ["\"v1\"", "\"v2\""] : times
    let changed = DownloadTests.content.map { ~$0 }
    let ranges = Recorder<String>()
    let server = try serve { request in
      ranges.record(request.header("Range") ?? "-")
      let isFirst = ranges.elements.count == 1
      let content = isFirst ? DownloadTests.content : changed
      var reply = DownloadTests.reply(to: request, content: content, tag: request.header("If-Range") ?? "\"-\"")
      reply.headers.removeAll { $0.name == "ETag" }
      reply.headers += [("Date", Self.now), (name, values[isFirst ? 0 : 1])]
      return isFirst ? reply.closing(after: 100_000) : reply
    }
    try await inFolder { folder in
      let (url, file) = (try server.url(), folder.appendingPathComponent("file"))
      await #expect(throws: HTTPError.self) { try await HTTP.download(url, to: file) }
      #expect(try await HTTP.download(url, to: file).status == 200)
      #expect(try Data(contentsOf: file) == Data(changed))
      #expect(ranges.elements == ["-", "bytes=100000-", "-"])
    }
  }
}
