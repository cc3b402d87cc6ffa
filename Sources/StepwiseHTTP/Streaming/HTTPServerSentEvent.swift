// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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
