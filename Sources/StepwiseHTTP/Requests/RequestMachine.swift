// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// The state of a request and its redirects, as a value.
///
/// There is one hop for the request and one for each redirect. The first event that ends the request counts; later ones
/// change nothing. Times are passed in, relative to the start.
struct RequestMachine {
  private static let redirectLimit = 10

  private enum State {
    /// The request of the hop is being sent, or waits for its response.
    case asking
    /// The head of the response has arrived; the consumer does not wait.
    case answered
    /// The consumer waits for a piece of the body.
    case reading
    /// The request succeeded, failed or was cancelled.
    case ended(Result<Void, any Error>)
  }

  private let deadlines: HTTPDeadlines
  private var state = State.asking
  private(set) var request: HTTPRequest
  private var hop = 0
  /// When something was last sent or received, or the consumer started to wait.
  private var latest = Duration.zero
  /// Whether the request waits for a connection, during which no response can arrive.
  private var isWaiting = false

  init(_ request: HTTPRequest) {
    self.request = request
    deadlines = request.deadlines ?? .standard
  }

  var isEnded: Bool { end != nil }

  /// The result; nil before the end.
  var end: Result<Void, any Error>? {
    if case .ended(let result) = state { result } else { nil }
  }

  /// Some of the request was sent, or it starts or ends to wait for a connection.
  mutating func progressed(isWaiting: Bool = false, at now: Duration) {
    self.isWaiting = isWaiting
    if case .asking = state { latest = now }
  }

  /// The head of the hop's response has arrived, and leads to the next request; nil for the final response.
  ///
  /// Returns whether the next request is sent. Throws `CancellationError` after the end, and
  /// ``HTTPError/tooManyRedirects`` after the tenth redirect.
  mutating func answer(_ next: HTTPRequest?, at now: Duration) throws -> Bool {
    guard case .asking = state else { throw CancellationError() }
    latest = now
    guard let next else {
      state = .answered
      return false
    }
    guard hop < Self.redirectLimit else { throw HTTPError.tooManyRedirects }
    hop += 1
    request = next
    return true
  }

  /// The consumer starts to wait for a piece of the body; returns false when there will be none.
  mutating func read(at now: Duration) -> Bool {
    guard case .answered = state else { return false }
    latest = now
    state = .reading
    return true
  }

  /// A piece has arrived; returns false when it comes after the end.
  mutating func chunk() -> Bool {
    guard case .reading = state else { return false }
    state = .answered
    return true
  }

  /// Ends the request; returns false when it had ended before.
  mutating func finish(_ result: Result<Void, any Error>) -> Bool {
    guard !isEnded else { return false }
    state = .ended(result)
    return true
  }

  /// Returns when to check the deadlines again; nil for never.
  ///
  /// Throws ``HTTPError/timedOut(_:)`` when one has passed.
  func timer(at now: Duration) throws(HTTPError) -> Duration? {
    let limit: (time: Duration, kind: HTTPDeadlines.Kind)?
    switch state {
    case .ended: return nil
    case .asking where isWaiting: limit = nil
    case .asking: limit = deadlines.headers.map { (latest + $0, .headers) }
    case .answered: limit = nil
    case .reading: limit = deadlines.idle.map { (latest + $0, .idle) }
    }
    var deadline = deadlines.total.map { (time: $0, kind: HTTPDeadlines.Kind.total) }
    if let limit, deadline.map({ limit.time < $0.time }) ?? true { deadline = limit }
    if let deadline, deadline.time <= now { throw .timedOut(deadline.kind) }
    // Not longer than the shorter limit: the other one may start at any time.
    let soonest = Self.shorter(deadlines.headers, deadlines.idle).map { now + $0 }
    return Self.shorter(deadline?.time, soonest)
  }

  /// Each request calls it, so it does without arrays.
  private static func shorter(_ first: Duration?, _ second: Duration?) -> Duration? {
    guard let first, let second else { return first ?? second }
    return min(first, second)
  }
}
