// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// The life of a request: what was sent, what came back, and who ended it.
///
/// It goes in hops, one for the request and one for each redirect. Events of a hop that is over change nothing, and of all
/// that can end a request the first counts. Time is given to it, as what has passed since the beginning.
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
    /// The request of the hop is made or on its way.
    case asking
    /// The head of the hop's answer is here; the next request, if it redirects.
    case answered(ResponseHead, next: OutgoingRequest?)
    /// It has succeeded, failed, or was cancelled.
    case ended
  }

  private let limits: Limits
  private var state = State.idle
  private var request: OutgoingRequest
  private var body = Data()
  private(set) var hop = 0
  /// The hops whose tasks are in the middle of something during which they must not be cancelled.
  private var holds: [Int] = []
  /// Whether the task is to be cancelled as soon as nothing holds it.
  private var owesCancel = false
  /// When something was last sent or received.
  private var latest = Duration.zero

  init(_ request: OutgoingRequest, limits: Limits) {
    self.request = request
    self.limits = limits
  }

  /// Where the request of this hop goes.
  var url: URL { request.url }

  var isEnded: Bool {
    if case .ended = state { true } else { false }
  }

  /// Begins; returns what to send, or nothing when it was cancelled before.
  mutating func start() -> OutgoingRequest? {
    guard case .idle = state else { return nil }
    state = .asking
    return request
  }

  /// Begins something during which the hop's task must not be cancelled; returns whether it may be begun.
  mutating func hold(_ hop: Int) -> Bool {
    guard isCurrent(hop) else { return false }
    holds.append(hop)
    return true
  }

  /// Ends that; returns whether the task is to be cancelled now, which nobody could do meanwhile.
  mutating func release(_ hop: Int) -> Bool {
    if let place = holds.firstIndex(of: hop) { holds.remove(at: place) }
    guard owesCancel, !holds.contains(self.hop) else { return false }
    owesCancel = false
    return true
  }

  mutating func sent(_ hop: Int, at now: Duration) {
    if isCurrent(hop) { latest = now }
  }

  enum AnswerAction {
    case ignore
    /// The body that follows is the answer's.
    case receive
    /// The body that follows is of no interest.
    case skip
    case fail(HTTPError, cancelsTask: Bool)
  }

  mutating func answer(_ hop: Int, _ head: ResponseHead, at now: Duration) -> AnswerAction {
    guard isCurrent(hop), case .asking = state else { return .ignore }
    latest = now
    let next = request.redirected(by: head)
    if next != nil, hop >= limits.redirects {
      return .fail(.tooManyRedirects, cancelsTask: end())
    }
    state = .answered(head, next: next)
    return next == nil ? .receive : .skip
  }

  /// Takes a piece of the body; returns the head of the answer it belongs to, or nil when it is of no interest.
  mutating func chunk(_ hop: Int, _ data: Data, keeping: Bool, at now: Duration) -> ResponseHead? {
    guard isCurrent(hop), case .answered(let head, nil) = state else { return nil }
    latest = now
    if keeping { body.append(data) }
    return head
  }

  enum CompleteAction {
    case ignore
    case follow(OutgoingRequest)
    case succeed(ResponseHead, Data, URL)
    case fail(any Error)
  }

  mutating func complete(_ hop: Int, failure: (any Error)?, at now: Duration) -> CompleteAction {
    guard isCurrent(hop) else { return .ignore }
    if let failure {
      state = .ended
      return .fail(failure)
    }
    switch state {
    case .answered(_, let next?):
      self.hop += 1
      latest = now
      request = next
      state = .asking
      return .follow(next)
    case .answered(let head, nil):
      state = .ended
      return .succeed(head, exchange(&body, with: Data()), request.url)
    case .idle, .asking, .ended:
      state = .ended
      return .fail(URLFailure.noAnswer)
    }
  }

  enum EndAction: Equatable {
    case nothing
    case end(cancelsTask: Bool)
  }

  /// Ends it from outside: it was cancelled, or what it brings cannot be used.
  mutating func stop() -> EndAction {
    isEnded ? .nothing : .end(cancelsTask: end())
  }

  enum TimerAction: Equatable {
    case sleep(until: Duration)
    case timeOut(cancelsTask: Bool)
    case stop
  }

  /// The timer has come round; says when it is to come again.
  mutating func timer(at now: Duration) -> TimerAction {
    let limit: Duration?
    switch state {
    case .ended: return .stop
    case .idle, .asking: limit = limits.headers
    case .answered: limit = limits.idle
    }
    let deadline = [limit.map { latest + $0 }, limits.total].compactMap(\.self).min()
    if let deadline, deadline <= now { return .timeOut(cancelsTask: end()) }
    // Not longer than the shorter one: the other may begin at any moment.
    let soonest = [limits.headers, limits.idle].compactMap(\.self).min().map { now + $0 }
    guard let wake = [deadline, soonest].compactMap(\.self).min() else { return .stop }
    return .sleep(until: wake)
  }

  private func isCurrent(_ hop: Int) -> Bool { hop == self.hop && !isEnded }

  /// Returns whether the task is to be cancelled by whoever ends it.
  private mutating func end() -> Bool {
    state = .ended
    body = Data()
    owesCancel = holds.contains(hop)
    return !owesCancel
  }
}
