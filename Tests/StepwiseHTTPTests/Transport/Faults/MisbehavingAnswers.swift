// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Answers of servers that misbehave, each with a name.
enum MisbehavingAnswers {
  typealias Entry = (name: String, answer: RawServer.Answer)

  static var all: [Entry] { statusLines + fields + lengths + chunks + kinds + encodings }

  private static func entry(_ name: String, _ text: String, end: RawServer.End = .close) -> Entry {
    (name, RawServer.Answer(text, end: end))
  }

  private static func ok(_ name: String, _ fields: String, _ body: String = "hello") -> Entry {
    entry(name, "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n\(body)")
  }

  private static let statusLines: [Entry] = [
    ("line feeds alone", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"),
    ("no reason and no space", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello"),
    ("no reason but a space", "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello"),
    ("HTTP/1.0 without a length", "HTTP/1.0 200 OK\r\n\r\nhello"),
    ("HTTP/1.1 without a length", "HTTP/1.1 200 OK\r\n\r\nhello"),
    ("lower case", "http/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    ("HTTP/1.2", "HTTP/1.2 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    ("HTTP/2 as text", "HTTP/2 200\r\nContent-Length: 5\r\n\r\nhello"),
    ("HTTP/3 as text", "HTTP/3 200\r\nContent-Length: 5\r\n\r\nhello"),
    ("HTTP/9.9", "HTTP/9.9 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    ("ICY", "ICY 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    ("another protocol", "220 ready\r\n250 hello\r\n"),
    ("nonsense", "\u{1}\u{2}\u{3}well, well\r\n\r\n"),
    ("nothing", ""),
    ("one letter", "H"),
    ("half a status line", "HTTP/1.1 20"),
    ("a status line alone", "HTTP/1.1 200 OK\r\n"),
    ("status 99", "HTTP/1.1 99 Low\r\nContent-Length: 5\r\n\r\nhello"),
    ("status 000", "HTTP/1.1 000 Zero\r\nContent-Length: 5\r\n\r\nhello"),
    ("status 1000", "HTTP/1.1 1000 High\r\nContent-Length: 5\r\n\r\nhello"),
    ("status 999", "HTTP/1.1 999 High\r\nContent-Length: 5\r\n\r\nhello"),
    ("status with a letter", "HTTP/1.1 20x OK\r\nContent-Length: 5\r\n\r\nhello"),
    ("negative status", "HTTP/1.1 -20 OK\r\nContent-Length: 5\r\n\r\nhello"),
    ("two spaces", "HTTP/1.1  200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    ("a tab", "HTTP/1.1\t200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    ("no space", "HTTP/1.1200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    ("an empty line before", "\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    ("spaces before", "  HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    ("a long reason", "HTTP/1.1 200 \(String(repeating: "x", count: 20_000))\r\nContent-Length: 5\r\n\r\nhello"),
  ].map { entry($0, $1) }

  private static let fields: [Entry] = [
    entry("closed in the middle of a field", "HTTP/1.1 200 OK\r\nContent-Type: text/pl"),
    entry("closed after a field", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"),
    entry("closed in the middle of the empty line", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r"),
    entry("reset in the middle of a field", "HTTP/1.1 200 OK\r\nContent-Type: te", end: .reset),
    ok("no colon", "Content-Length: 5\r\nnonsense"),
    ok("a space before the colon", "Content-Length : 5"),
    ok("no name", "Content-Length: 5\r\n: value"),
    ok("no value", "Content-Length: 5\r\nX-Empty:"),
    ok("no space after the colon", "Content-Length:5"),
    ok("tabs", "Content-Length:\t5\t"),
    ok("a folded field", "Content-Length: 5\r\nX-Long: one\r\n two\r\n\tthree"),
    ok("a folded first field", " folded: 1\r\nContent-Length: 5"),
    ok("UTF-8", "Content-Length: 5\r\nX-Name: Ünï"),
    ("Latin-1", RawServer.Answer(latin1("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Name: caf\u{E9}\r\n\r\nhello"))),
    ok("a NUL", "Content-Length: 5\r\nX-Nul: a\0b"),
    ok("a bare carriage return", "Content-Length: 5\r\nX-CR: a\rb"),
    ok("a control character", "Content-Length: 5\r\nX-Bell: a\u{7}b"),
    ok("a strange name", "Content-Length: 5\r\nX (y): z"),
    ok("one name twice", "Content-Length: 5\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2"),
    ok(
      "three thousand fields",
      "Content-Length: 5\r\n" + String(repeating: "X-Many: 1234567890\r\n", count: 3_000) + "X: y"
    ),
    ok("fields of 90 kilobytes", "Content-Length: 5\r\nX-Large: " + String(repeating: "x", count: 90_000)),
  ]

  private static func latin1(_ text: String) -> [UInt8] {
    text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
  }

  private static let lengths: [Entry] = [
    ok("the same length twice", "Content-Length: 5\r\nContent-Length: 5"),
    ok("two lengths", "Content-Length: 5\r\nContent-Length: 3"),
    ok("a list of lengths", "Content-Length: 5, 5"),
    ok("a negative length", "Content-Length: -5"),
    ok("a length of letters", "Content-Length: five"),
    ok("a length with a plus", "Content-Length: +5"),
    ok("a hexadecimal length", "Content-Length: 0x5"),
    ok("a length with letters behind", "Content-Length: 5abc"),
    ok("an empty length", "Content-Length:"),
    ok("a length too large for any number", "Content-Length: 99999999999999999999999"),
    ok("a length that is too large", "Content-Length: 50"),
    ok("a length that is too small", "Content-Length: 2"),
    ok("no length, but a body", "Content-Length: 0"),
    entry("reset in the middle of the body", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", end: .reset),
    entry("reset after the body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", end: .reset),
    entry("left open after the body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", end: .hold),
    ok("a length and chunks", "Content-Length: 3\r\nTransfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"),
    ok("Connection: close and more", "Connection: close\r\nContent-Length: 5", "hello, world"),
  ]

  private static func chunked(_ name: String, _ body: String, end: RawServer.End = .close) -> Entry {
    entry(name, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body, end: end)
  }

  private static let chunks: [Entry] = [
    chunked("chunks", "5\r\nhello\r\n0\r\n\r\n"),
    chunked("chunks, left open", "5\r\nhello\r\n0\r\n\r\n", end: .hold),
    chunked("a trailer", "5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"),
    chunked("a trailer, left open", "5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", end: .hold),
    chunked("two trailers", "5\r\nhello\r\n0\r\nX-Sum: 1\r\nX-Other: 2\r\n\r\n"),
    chunked("a trailer cut short", "5\r\nhello\r\n0\r\nX-Sum: 1"),
    chunked("a trailer without a colon", "5\r\nhello\r\n0\r\nnonsense\r\n\r\n"),
    chunked("no last chunk", "5\r\nhello\r\n"),
    chunked("no end of the last chunk", "5\r\nhello\r\n0\r\n"),
    chunked("no chunk at all", ""),
    chunked("an empty body", "0\r\n\r\n"),
    chunked("a chunk cut short", "5\r\nhel"),
    chunked("a chunk reset", "5\r\nhel", end: .reset),
    chunked("a size of letters", "xyz\r\nhello\r\n0\r\n\r\n"),
    chunked("a negative size", "-5\r\nhello\r\n0\r\n\r\n"),
    chunked("a size too large for any number", "FFFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n"),
    chunked("the largest size", "7FFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n"),
    chunked("zeros before the size", "00000000005\r\nhello\r\n0\r\n\r\n"),
    chunked("many zeros before the size", String(repeating: "0", count: 40) + "5\r\nhello\r\n0\r\n\r\n"),
    chunked("an extension", "5;name=value\r\nhello\r\n0\r\n\r\n"),
    chunked("a space behind the size", "5 \r\nhello\r\n0\r\n\r\n"),
    chunked("a space before the size", " 5\r\nhello\r\n0\r\n\r\n"),
    chunked("line feeds alone in chunks", "5\nhello\n0\n\n"),
    chunked("no line end behind a chunk", "5\r\nhello0\r\n\r\n"),
    chunked("a chunk longer than its size", "3\r\nhello\r\n0\r\n\r\n"),
    chunked("no chunks, but a body", "hello"),
    chunked("more behind the last chunk", "5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"),
    ok("chunks twice", "Transfer-Encoding: chunked, chunked", "5\r\nhello\r\n0\r\n\r\n"),
    ok("chunks in two fields", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"),
    ok("the identity", "Transfer-Encoding: identity"),
    ok("an unknown transfer encoding", "Transfer-Encoding: rot13"),
    ok("chunks of gzip that is none", "Transfer-Encoding: gzip, chunked", "5\r\nhello\r\n0\r\n\r\n"),
    entry("chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
  ]
}
