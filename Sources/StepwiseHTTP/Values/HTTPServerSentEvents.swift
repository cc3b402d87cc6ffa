// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

extension HTTPResponseStream {
  /// The events of a body of the type `text/event-stream`.
  ///
  /// ```swift
  /// let response = try await HTTP.stream(url, headers: ["Accept": "text/event-stream"])
  /// for try await event in try await response.requireSuccess().events { show(event.data) }
  /// ```
  ///
  /// The loop ends when the server closes the stream, and throws when the connection fails. To reconnect, send another
  /// request with the last event's ``HTTPServerSentEvent/lastEventID`` as `Last-Event-ID`. Such streams may be silent
  /// for a long time: choose the ``HTTPDeadlines/idle`` deadline accordingly. An event of more than 16 MiB is an error.
  public var events: some AsyncSequence<HTTPServerSentEvent, any Error> & Sendable { HTTPServerSentEvents(body: body) }
}

/// The events of a body, which is read as they are.
struct HTTPServerSentEvents: AsyncSequence, Sendable {
  let body: HTTPBodyStream

  func makeAsyncIterator() -> Iterator { Iterator(body: body.makeAsyncIterator()) }

  struct Iterator: AsyncIteratorProtocol {
    var body: HTTPBodyStream.Iterator
    var parser = ServerSentEventParser()
    var events: ArraySlice<HTTPServerSentEvent> = []

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> HTTPServerSentEvent? {
      while events.isEmpty {
        guard let chunk = try await body.next(isolation: actor) else { return nil }
        events = try parser.parse(chunk)[...]
      }
      return events.popFirst()
    }
  }
}

/// An event of a stream of the type `text/event-stream`.
public struct HTTPServerSentEvent: Sendable, Hashable {
  /// The type of the event; `message` unless the server says otherwise.
  public let type: String

  /// The data, several lines joined by line feeds.
  public let data: String

  /// The latest id that the server sent with this event or an earlier one; empty when there was none.
  ///
  /// Send it as `Last-Event-ID` to resume after this event.
  public let lastEventID: String

  /// How long the server asks to wait before reconnecting, as of this event; nil when it did not say.
  public let retry: Duration?

  /// Creates an event, for tests of code that handles some.
  public init(type: String = "message", data: String, lastEventID: String = "", retry: Duration? = nil) {
    self.type = type
    self.data = data
    self.lastEventID = lastEventID
    self.retry = retry
  }
}

/// Reads events from bytes that come in pieces, as the HTML standard says ("Server-sent events", sections 9.2.5 Parsing
/// an event stream and 9.2.6 Interpreting an event stream).
struct ServerSentEventParser {
  /// The most bytes that the lines of one event may have.
  private static let limit = 16 * 1024 * 1024

  private var line: [UInt8] = []
  private var previous: UInt8?
  private var isFirstLine = true
  private var type = ""
  /// The bytes of the data, whose lines may be many and empty; nil without any.
  private var data: [UInt8]?
  private var lastEventID = ""
  private var retry: Duration?

  /// Takes the next bytes in; returns the events that they complete.
  mutating func parse(_ bytes: some Sequence<UInt8>) throws(HTTPError) -> [HTTPServerSentEvent] {
    var events: [HTTPServerSentEvent] = []
    for byte in bytes {
      switch byte {
      // It belongs to the carriage return.
      case UInt8(ascii: "\n") where previous == UInt8(ascii: "\r"): break
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        if let event = endLine() { events.append(event) }
      default:
        line.append(byte)
        guard line.count + (data?.count ?? 0) <= Self.limit else {
          throw .refused(reason: "an event of the stream has more than \(Self.limit) bytes")
        }
      }
      previous = byte
    }
    return events
  }

  private mutating func endLine() -> HTTPServerSentEvent? {
    defer { line.removeAll(keepingCapacity: true) }
    if exchange(&isFirstLine, with: false), line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
    guard !line.isEmpty else { return dispatch() }
    let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
    var value = line[min(colon + 1, line.endIndex)...]
    if value.first == UInt8(ascii: " ") { value.removeFirst() }
    lazy var text = String(decoding: value, as: UTF8.self)
    // A line that begins with a colon is a comment.
    switch String(decoding: line[..<colon], as: UTF8.self) {
    case "event": type = text
    case "data":
      if data == nil { data = [] } else { data?.append(UInt8(ascii: "\n")) }
      data? += value
    case "id": if !value.contains(0) { lastEventID = text }
    case "retry":
      guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { break }
      retry = Int64(text).map { .milliseconds($0) }
    default: break
    }
    return nil
  }

  /// Ends an event at an empty line; one without data is none.
  private mutating func dispatch() -> HTTPServerSentEvent? {
    defer { (type, data) = ("", nil) }
    guard let data else { return nil }
    return HTTPServerSentEvent(
      type: type.isEmpty ? "message" : type,
      data: String(decoding: data, as: UTF8.self),
      lastEventID: lastEventID,
      retry: retry
    )
  }
}
