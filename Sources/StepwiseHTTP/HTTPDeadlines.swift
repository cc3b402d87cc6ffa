// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How long a request may take.
///
/// They are kept by this library, since URLSession does not keep its own on every system. One that passes ends the wait at
/// once with ``HTTPError/timedOut``.
public struct HTTPDeadlines: Sendable {
  /// One of the deadlines.
  public enum Kind: Sendable, Hashable, CustomStringConvertible {
    /// ``HTTPDeadlines/headers``.
    case headers
    /// ``HTTPDeadlines/idle``.
    case idle
    /// ``HTTPDeadlines/total``.
    case total

    /// What did not happen in time.
    public var description: String {
      switch self {
      case .headers: "the head of the response did not arrive within the `headers` deadline"
      case .idle: "no further piece of the body arrived within the `idle` deadline"
      case .total: "the response was not complete within the `total` deadline"
      }
    }
  }

  /// From the beginning, or from the last byte of the body that was sent, to the head of the answer; nil is for ever.
  ///
  /// Connecting is part of it. It begins again with each redirect.
  public var headers: Duration?

  /// Between one piece of the answer and the next; nil is for ever.
  public var idle: Duration?

  /// From the beginning to the end of the answer, redirects included; nil is for ever.
  public var total: Duration?

  /// What measures them.
  public var clock: any Clock<Duration>

  /// Makes deadlines: a minute for the head and a minute between pieces, unless told.
  public init(
    headers: Duration? = .seconds(60),
    idle: Duration? = .seconds(60),
    total: Duration? = nil,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.headers = headers
    self.idle = idle
    self.total = total
    self.clock = clock
  }

  /// A minute for the head, a minute between pieces, and any time for the whole.
  public static var standard: HTTPDeadlines { HTTPDeadlines() }

  /// No deadlines at all.
  public static var never: HTTPDeadlines { HTTPDeadlines(headers: nil, idle: nil, total: nil) }
}
