// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The time limits of a request.
///
/// Set `total` if your user waits for the answer. This library enforces them, because URLSession does not do so on
/// every system. When one passes, the wait ends immediately with ``HTTPError/timedOut(_:)``.
public struct HTTPDeadlines: Sendable {
  /// One of the deadlines.
  public enum Kind: Sendable, Hashable, CustomStringConvertible {
    /// ``HTTPDeadlines/connect``.
    case connect
    /// ``HTTPDeadlines/headers``.
    case headers
    /// ``HTTPDeadlines/idle``.
    case idle
    /// ``HTTPDeadlines/total``.
    case total

    /// What did not happen in time.
    public var description: String {
      switch self {
      case .connect: "the connection was not opened within the `connect` deadline"
      case .headers: "the head of the response did not arrive within the `headers` deadline"
      case .idle: "no further piece of the body arrived within the `idle` deadline"
      case .total: "the response was not complete within the `total` deadline"
      }
    }
  }

  /// The limit for opening a connection, with the look-up of the host's name and the TLS handshake; nil for none.
  ///
  /// libcurl measures it in real time; URLSession does not have it.
  public var connect: Duration?

  /// The limit from the start, or from the last byte of the body that was sent, to the head of the response; nil for
  /// none.
  ///
  /// It includes connecting, and starts over with each redirect.
  public var headers: Duration?

  /// The limit between one piece of the response and the next; nil for none.
  public var idle: Duration?

  /// The limit from the start to the end of the response, including redirects; nil for none.
  public var total: Duration?

  /// The clock that measures them.
  public var clock: any Clock<Duration>

  /// Creates deadlines; by default a minute for the head and a minute between pieces.
  public init(
    connect: Duration? = nil,
    headers: Duration? = .seconds(60),
    idle: Duration? = .seconds(60),
    total: Duration? = nil,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.connect = connect
    self.headers = headers
    self.idle = idle
    self.total = total
    self.clock = clock
  }

  /// A minute for the head, a minute between pieces, and no limit for the whole response.
  public static var standard: HTTPDeadlines { HTTPDeadlines() }

  /// No deadlines.
  public static var never: HTTPDeadlines { HTTPDeadlines(headers: nil, idle: nil, total: nil) }
}
