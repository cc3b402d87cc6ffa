// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension MisbehavingAnswers {
  private static func entry(_ name: String, _ text: String) -> Entry { (name, RawServer.Answer(text)) }

  static let kinds: [Entry] = [
    entry("204 with a body", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"),
    entry("205 with a body", "HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello"),
    entry("304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
    entry("304 with a body", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello"),
    entry("100 alone", "HTTP/1.1 100 Continue\r\n\r\n"),
    entry("100 before", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    entry(
      "several 100 before",
      String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 5) + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    ),
    entry(
      "103 before, with fields",
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    ),
    entry("199 before", "HTTP/1.1 199 Wait\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    entry("100 and nonsense", "HTTP/1.1 100 Continue\r\n\r\nwell, well\r\n\r\n"),
    entry("302 without Location", "HTTP/1.1 302 Found\r\nContent-Length: 5\r\n\r\nhello"),
    entry("302 with an empty Location", "HTTP/1.1 302 Found\r\nLocation: \r\nContent-Length: 5\r\n\r\nhello"),
    entry("302 to another protocol", "HTTP/1.1 302 Found\r\nLocation: ftp://a/\r\nContent-Length: 5\r\n\r\nhello"),
    entry(
      "401 that asks for Basic",
      "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\nContent-Length: 5\r\n\r\nhello"
    ),
    entry("401 that asks for nothing", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 5\r\n\r\nhello"),
    entry(
      "401 that asks for what there is not",
      "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Own x\r\nContent-Length: 5\r\n\r\nhello"
    ),
    entry(
      "407 of a server",
      "HTTP/1.1 407 Proxy\r\nProxy-Authenticate: Basic realm=\"a\"\r\nContent-Length: 5\r\n\r\nhello"
    ),
    entry("500 cut short", "HTTP/1.1 500 Error\r\nContent-Length: 50\r\n\r\nhello"),
    entry("600", "HTTP/1.1 600 What\r\nContent-Length: 5\r\n\r\nhello"),
  ]

  private static func encoded(_ name: String, _ encoding: String, _ body: [UInt8]) -> Entry {
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(encoding)\r\nContent-Length: \(body.count)\r\n\r\n"
    return (name, RawServer.Answer(Array(head.utf8) + body))
  }

  /// "hello", by gzip.
  private static let gzip: [UInt8] = [
    31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0, 0,
  ]
  private static let hello = Array("hello".utf8)

  static let encodings: [Entry] = [
    encoded("gzip", "gzip", gzip),
    encoded("gzip in capitals", "GZIP", gzip),
    encoded("x-gzip", "x-gzip", gzip),
    encoded("gzip that is none", "gzip", hello),
    encoded("gzip cut short", "gzip", Array(gzip.prefix(15))),
    encoded("gzip of a wrong sum", "gzip", Array(gzip.dropLast(8)) + [1, 2, 3, 4, 5, 0, 0, 0]),
    encoded("gzip and more", "gzip", gzip + hello),
    encoded("gzip twice", "gzip", gzip + gzip),
    encoded("gzip of nothing", "gzip", []),
    encoded("deflate without a head", "deflate", [203, 72, 205, 201, 201, 7, 0]),
    encoded("deflate that is none", "deflate", hello),
    encoded("br that is none", "br", hello),
    encoded("an unknown encoding", "rot13", hello),
    encoded("the identity by name", "identity", hello),
    encoded("an empty encoding", "", hello),
    encoded("two encodings, one unknown", "gzip, rot13", hello),
  ]
}
