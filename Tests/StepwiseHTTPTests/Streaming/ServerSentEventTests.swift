// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// Server-sent events, as the HTML standard defines them.
@Suite(.timeLimit(.minutes(5))) struct ServerSentEventTests {
  typealias Event = HTTPServerSentEvent

  static let streams: [(text: String, events: [Event])] = [
    // The examples of the standard, section 9.2.6.
    ("data: YHOO\ndata: +2\ndata: 10\n\n", [Event(data: "YHOO\n+2\n10")]),
    (
      ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
      [Event(data: "first event", lastEventID: "1"), Event(data: "second event")]
    ),
    ("data\n\ndata\ndata\n\ndata:", [Event(data: ""), Event(data: "\n")]),
    ("data:test\n\ndata: test\n\n", [Event(data: "test"), Event(data: "test")]),
    (
      "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\nevent: add\ndata: 113411\n\n",
      [Event(type: "add", data: "73857293"), Event(type: "remove", data: "2153"), Event(type: "add", data: "113411")]
    ),
    // Line ends of all kinds.
    ("data: a\r\ndata: b\r\n\r\n", [Event(data: "a\nb")]), ("data: a\rdata: b\r\r", [Event(data: "a\nb")]),
    ("data: a\n\r\ndata: b\r\n\n", [Event(data: "a"), Event(data: "b")]),
    // Fields.
    ("event: x\n\ndata: a\n\n", [Event(data: "a")]), ("foo: bar\ndata: a\n\n", [Event(data: "a")]),
    ("DATA: a\n\n", []), (" data: a\n\n", []), ("data : a\n\n", []), ("data: a: b\n\n", [Event(data: "a: b")]),
    ("data:a\nevent:\n\n", [Event(data: "a")]),
    ("id: 1\n\ndata: a\n\n", [Event(data: "a", lastEventID: "1")]),
    (
      "id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n",
      [Event(data: "a", lastEventID: "1"), Event(data: "b", lastEventID: "1")]
    ),
    ("retry: 1500\ndata: a\n\n", [Event(data: "a", retry: .milliseconds(1_500))]),
    ("retry: 1.5\nretry: \nretry: -1\nretry: +1\nretry: ４\ndata: a\n\n", [Event(data: "a")]),
    ("retry: 99999999999999999999\ndata: a\n\n", [Event(data: "a")]),
    // One byte order mark at the beginning.
    ("\u{FEFF}data: a\n\n", [Event(data: "a")]), ("\u{FEFF}\u{FEFF}data: a\n\n", []),
    ("data: \u{FEFF}a\n\n", [Event(data: "\u{FEFF}a")]),
    ("data: ü – 文\n\n", [Event(data: "ü – 文")]), ("", []), ("\n\n\n", []), (":\n:\n\n", []),
  ]

  @Test(arguments: streams.indices) func `An event stream is parsed as the standard says`(index: Int) throws {
    let (text, expected) = Self.streams[index]
    var whole = ServerSentEventParser()
    #expect(try whole.parse(Array(text.utf8)) == expected)
    // However it is divided, bytes of one character included.
    for size in 1...3 {
      var parser = ServerSentEventParser()
      var (events, rest) = ([Event](), Array(text.utf8)[...])
      while !rest.isEmpty {
        events += try parser.parse(rest.prefix(size))
        rest = rest.dropFirst(size)
      }
      #expect(events == expected, "\(size)")
    }
  }

  @Test func `Invalid UTF-8 is replaced`() throws {
    var parser = ServerSentEventParser()
    #expect(try parser.parse(Array("data: a".utf8) + [0xFF] + Array("b\n\n".utf8)) == [Event(data: "a\u{FFFD}b")])
  }

  @Test func `An endless event is refused`() throws {
    var parser = ServerSentEventParser()
    let line = Array("data: ".utf8) + [UInt8](repeating: 65, count: 1_000_000) + [10]
    #expect(throws: HTTPError.refused(reason: "")) { for _ in 0..<17 { _ = try parser.parse(line) } }
  }

  @Test(.enabled(if: isMeasurable)) func `An event takes as much memory as its bytes`() async {
    await #expect(processExitsWith: .success) {
      var parser = ServerSentEventParser()
      let lines = Array(String(repeating: "data\n", count: 1_000).utf8)
      _ = try parser.parse(lines)
      let before = residentMemory()
      for _ in 0..<500 { _ = try parser.parse(lines) }
      let taken = residentMemory() - before
      #expect(taken < 4 * 1024 * 1024, "\(taken)")
      #expect(try parser.parse([10]).first?.data.utf8.count == 500_999)
    }
  }

  @Test func `Comments without an event do not add up`() throws {
    var parser = ServerSentEventParser()
    let line = Array(":".utf8) + [UInt8](repeating: 65, count: 1_000_000) + [10]
    for _ in 0..<17 { #expect(try parser.parse(line).isEmpty) }
    #expect(try parser.parse(Array("data: a\n\n".utf8)) == [Event(data: "a")])
  }

  @Test func `A cancelled loop loses no event that has arrived`() async throws {
    let text = (0..<9).map { "data: \($0)\n\n" }.joined()
    let url = try #require(URL(string: "http://example.org/"))
    let response = HTTPResponseStream(status: 200, url: url, body: HTTPBodyStream([Data(text.utf8)]))
    let events = Recorder<String>()
    let loop = Task {
      for try await event in response.events {
        events.record(event.data)
        withUnsafeCurrentTask { $0?.cancel() }
      }
    }
    await #expect(throws: CancellationError.self) { try await loop.value }
    #expect(events.elements == (0..<9).map(String.init))
  }

  @Test func `Events arrive one by one`() async throws {
    let server = try serve { request in
      let first = request.header("Last-Event-ID") ?? "0"
      let text = "retry: 10\nid: \(first)1\nevent: greeting\ndata: hello\n\ndata: and\n\n"
      return Reply(headers: [("Content-Type", "text/event-stream")], body: Array(text.utf8))
        .slowly(chunkSize: 1, pause: .microseconds(100)).declaring(.absent)
    }
    let response = try await HTTP.stream(server.url(), headers: ["Accept": "text/event-stream"])
    var events: [Event] = []
    for try await event in response.events { events.append(event) }
    let retry = Duration.milliseconds(10)
    #expect(
      events == [
        Event(type: "greeting", data: "hello", lastEventID: "01", retry: retry),
        Event(data: "and", lastEventID: "01", retry: retry),
      ]
    )
    for try await event in try await HTTP.stream(server.url(), headers: ["Last-Event-ID": "7"]).events {
      #expect(event.lastEventID == "71")
      break
    }
  }
}
