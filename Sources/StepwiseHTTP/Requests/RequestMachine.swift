// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// The life of a request: what was sent, what came back, and what ended it.
///
/// It goes in hops, one for the request and one for each redirect. Of all that can end a request the first counts, and no
/// event after it changes anything. Time is given to it, as what has passed since the beginning.
struct RequestMachine {
  struct Limits: Sendable {
    var headers: Duration?
    var idle: Duration?
    var total: Duration?
    var redirects = 10
  }

  private enum State {
    /// Nothing was begun yet.
    case idle
    /// The request of the hop is on its way.
    case asking
    /// The head of the response is here; the consumer does something else.
    case answered
    /// The consumer waits for a piece of the body.
    case reading
    /// It has succeeded, failed, or was cancelled: with what the consumer gets.
    case ended(Result<Void, any Error>)
  }

  private let limits: Limits
  private var state = State.idle
  private(set) var request: OutgoingRequest
  private var hop = 0
  /// When something was last sent or received, or the consumer began to wait.
  private var latest = Duration.zero

  init(_ request: OutgoingRequest, limits: Limits) {
    self.request = request
    self.limits = limits
  }

  var isEnded: Bool {
    if case .ended = state { true } else { false }
  }

  /// How it ended, if it has.
  var end: Result<Void, any Error>? {
    if case .ended(let result) = state { result } else { nil }
  }

  /// Begins; returns what to send, or nothing when it was cancelled before.
  mutating func start() -> OutgoingRequest? {
    guard case .idle = state else { return nil }
    state = .asking
    return request
  }

  mutating func sent(at now: Duration) {
    if case .asking = state { latest = now }
  }

  enum AnswerAction {
    case ignore
    /// The response is the final one.
    case deliver
    case follow(OutgoingRequest)
    case fail(HTTPError)
  }

  /// The head of the hop's response has arrived.
  mutating func answer(_ head: HTTPResponseHead, at now: Duration) -> AnswerAction {
    guard case .asking = state else { return .ignore }
    latest = now
    guard let next = request.redirected(by: head) else {
      state = .answered
      return .deliver
    }
    guard hop < limits.redirects else {
      state = .ended(.failure(HTTPError.tooManyRedirects))
      return .fail(.tooManyRedirects)
    }
    hop += 1
    request = next
    return .follow(next)
  }

  /// The consumer begins to wait for a piece of the body; returns false when there will be none.
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

  /// Ends it; returns false when it had ended.
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

  /// The timer has come round; says when it is to come again.
  mutating func timer(at now: Duration) -> TimerAction {
    var deadlines: [(time: Duration, kind: HTTPDeadlines.Kind)] = []
    if let total = limits.total { deadlines.append((total, .total)) }
    switch state {
    case .ended: return .stop
    case .idle, .asking: if let limit = limits.headers { deadlines.append((latest + limit, .headers)) }
    case .answered: break
    case .reading: if let limit = limits.idle { deadlines.append((latest + limit, .idle)) }
    }
    let deadline = deadlines.min { $0.time < $1.time }
    if let deadline, deadline.time <= now {
      state = .ended(.failure(HTTPError.timedOut(deadline.kind)))
      return .timeOut(deadline.kind)
    }
    // Not longer than the shorter one: the other may begin at any moment.
    let soonest = [limits.headers, limits.idle].compactMap(\.self).min().map { now + $0 }
    guard let wake = [deadline?.time, soonest].compactMap(\.self).min() else { return .stop }
    return .sleep(until: wake)
  }
}
