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
    /// The request has not started.
    case idle
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
  private var state = State.idle
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

  var isEnded: Bool {
    if case .ended = state { true } else { false }
  }

  /// The result; nil before the end.
  var end: Result<Void, any Error>? {
    if case .ended(let result) = state { result } else { nil }
  }

  /// Starts; returns the request to send, or nil when it was cancelled before.
  mutating func start() -> HTTPRequest? {
    guard case .idle = state else { return nil }
    state = .asking
    return request
  }

  mutating func sent(at now: Duration) {
    if case .asking = state { latest = now }
  }

  mutating func wait(_ isWaiting: Bool, at now: Duration) {
    self.isWaiting = isWaiting
    sent(at: now)
  }

  /// The head of the hop's response has arrived; returns whether the redirect in it is followed.
  ///
  /// - Parameters:
  ///   - next: The request that the response redirects to; nil for the final response.
  ///   - now: The time.
  /// - Throws: ``HTTPError/tooManyRedirects``; `CancellationError` after the end.
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

  enum TimerAction: Equatable {
    case sleep(until: Duration)
    case timeOut(HTTPDeadlines.Kind)
    case stop
  }

  /// The timer has fired; returns when it has to fire again.
  mutating func timer(at now: Duration) -> TimerAction {
    let limit: (time: Duration, kind: HTTPDeadlines.Kind)?
    switch state {
    case .ended: return .stop
    case .asking where isWaiting: limit = nil
    case .idle, .asking: limit = deadlines.headers.map { (latest + $0, .headers) }
    case .answered: limit = nil
    case .reading: limit = deadlines.idle.map { (latest + $0, .idle) }
    }
    var deadline = deadlines.total.map { (time: $0, kind: HTTPDeadlines.Kind.total) }
    if let limit, deadline.map({ limit.time < $0.time }) ?? true { deadline = limit }
    if let deadline, deadline.time <= now {
      state = .ended(.failure(HTTPError.timedOut(deadline.kind)))
      return .timeOut(deadline.kind)
    }
    // Not longer than the shorter limit: the other one may start at any time.
    let soonest = Self.shorter(deadlines.headers, deadlines.idle).map { now + $0 }
    return Self.shorter(deadline?.time, soonest).map { .sleep(until: $0) } ?? .stop
  }

  /// Each request calls it, so it does without arrays.
  private static func shorter(_ first: Duration?, _ second: Duration?) -> Duration? {
    guard let first, let second else { return first ?? second }
    return min(first, second)
  }
}
