// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

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
  /// for a long time: choose the ``HTTPDeadlines/idle`` deadline accordingly.
  public var events: HTTPServerSentEvents { HTTPServerSentEvents(body: body) }
}

/// The events of a response, in order, as the HTML standard reads them.
///
/// The body is read as the events are: see ``HTTPBodyStream`` for how it ends.
public struct HTTPServerSentEvents: AsyncSequence, Sendable {
  /// One event.
  public typealias Element = HTTPServerSentEvent
  /// ``HTTPError`` when the body breaks off, `CancellationError` when the Task is cancelled.
  public typealias Failure = any Error

  let body: HTTPBodyStream

  /// Creates the iterator, which ends the request when it is released.
  public func makeAsyncIterator() -> Iterator { Iterator(body: body.makeAsyncIterator()) }

  /// The iterator of events.
  public struct Iterator: AsyncIteratorProtocol {
    private var body: HTTPBodyStream.Iterator
    private var parser = ServerSentEventParser()
    private var events: ArraySlice<HTTPServerSentEvent> = []

    init(body: HTTPBodyStream.Iterator) { self.body = body }

    /// Waits for the next event in an actor's isolation; nil when the server has closed the stream.
    ///
    /// - Throws: ``HTTPError``, also for an event of more than 16 MiB; `CancellationError` when the Task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> HTTPServerSentEvent? {
      while events.isEmpty {
        guard let chunk = try await body.next(isolation: actor) else { return nil }
        do {
          events = try parser.parse(chunk)[...]
        } catch {
          throw HTTPError.refused(reason: "an event of the stream has more than \(ServerSentEventParser.limit) bytes")
        }
      }
      return events.popFirst()
    }
  }
}

@available(*, unavailable)
extension HTTPServerSentEvents.Iterator: Sendable {}
