// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import Stepwise

/// One request of a session, with its redirects.
///
/// One consumer calls `head()`, then `chunk()` until that returns nil. To stop earlier, it calls `stop()` or releases
/// the exchange.
final class Exchange: Sendable {
  private struct State {
    var machine: RequestMachine
    /// The transfer of the latest hop.
    var transfer: (any HTTPTransfer)?
    var timer: Task<Void, Never>?
  }

  private let session: HTTPSession
  private let use: HTTPSessionUse?
  private let request: HTTPRequest
  private let stopwatch: Stopwatch
  /// The start in real time, if the deadlines are: then the shared alarm checks them.
  private let start: ContinuousClock.Instant?
  private let state: Lock<State>

  /// Creates an exchange, which sends nothing yet.
  init(_ request: HTTPRequest, in session: HTTPSession, _ use: HTTPSessionUse? = nil) {
    self.session = session
    self.use = use
    self.request = request
    let deadlines = request.deadlines ?? .standard
    stopwatch = Stopwatch(deadlines.clock)
    start = deadlines.clock is ContinuousClock ? .now : nil
    state = Lock(State(machine: RequestMachine(deadlines)))
    HTTPActivity.change(by: 1)
  }

  deinit { stop() }

  /// Sends the request, follows redirects, and waits for the head of the response; reports all progress before.
  ///
  /// - Throws: ``HTTPError``; `CancellationError` at once when the Task is cancelled.
  func head() async throws -> (head: HTTPResponseHead, url: URL) {
    let response = try await ended { try await self.send() }
    await request.upload?.flush()
    return response
  }

  /// Waits for the next piece of the body; nil at the end.
  ///
  /// - Throws: ``HTTPError``; `CancellationError` at once when the Task is cancelled.
  func chunk() async throws -> Data? {
    let now = stopwatch.elapsed()
    let (transfer, end) = state.withLock { ($0.machine.read(at: now) ? $0.transfer : nil, $0.machine.end) }
    guard let transfer else {
      try end?.get()
      return nil
    }
    let data = try await ended { try await transfer.chunk() }
    if let data, state.withLock({ $0.machine.chunk() }) { return data }
    finish(.success(()))
    // An error that ended it in the meantime takes precedence.
    try state.withLock { $0.machine.end }?.get()
    return nil
  }

  /// Ends the request, unless its response is complete.
  func stop() { finish(.failure(CancellationError())) }

  /// Runs a part of the request, which ends immediately when the task is cancelled; throws the error that ended the
  /// request.
  private func ended<Value>(_ body: () async throws -> Value) async throws -> Value {
    try await withTaskCancellationHandler {
      do {
        return try await body()
      } catch {
        finish(.failure(error is CancellationError ? error : HTTPError(error)))
        try state.withLock { $0.machine.end }?.get()
        throw error
      }
    } onCancel: {
      stop()
    }
  }

  private func send() async throws -> (HTTPResponseHead, URL) {
    startTimer()
    var request = request
    while true {
      var outgoing = request
      if let cookies = session.jar?.header(for: request) { outgoing.headers["Cookie"] = cookies }
      if request.body != nil {
        outgoing.onBytesSent = { [weak self, upload = request.upload] sent in
          upload?.report(sent)
          self?.progressed()
        }
      }
      outgoing.onWait = { [weak self] isWaiting in self?.progressed(isWaiting: isWaiting) }
      let transfer = session.transport.transfer(outgoing)
      guard begin(transfer) else { throw CancellationError() }
      let head = try await transfer.head()
      session.jar?.keepCookies(of: head, from: request.url) { state.withLock { $0.machine.isEnded } }
      let next = request.redirected(by: head)
      let now = stopwatch.elapsed()
      try state.withLock { try $0.machine.answer(isRedirect: next != nil, at: now) }
      guard let next else { return (head, request.url) }
      await skipBody(of: transfer)
      request = next
    }
  }

  /// Makes a transfer the current one; returns false when the exchange has ended meanwhile.
  private func begin(_ transfer: any HTTPTransfer) -> Bool {
    let previous = state.withLock { state -> (any HTTPTransfer)?? in
      state.machine.isEnded ? nil : .some(exchange(&state.transfer, with: transfer))
    }
    // The transfer of the previous hop is released here, outside of the lock: its type may be a user's.
    return previous != nil
  }

  /// Reads the body of a redirect if it is small, so that its connection can be reused; cancels the transfer otherwise.
  private func skipBody(of transfer: any HTTPTransfer) async {
    var count = 0
    while count <= 64 * 1024, let data = try? await transfer.chunk() { count += data.count }
    transfer.cancel()
  }

  private func progressed(isWaiting: Bool = false) {
    let now = stopwatch.elapsed()
    state.withLock { $0.machine.progressed(isWaiting: isWaiting, at: now) }
  }

  private func finish(_ result: Result<Void, any Error>) {
    let ended = state.withLock { state in
      state.machine.finish(result) ? (transfer: state.transfer.take(), timer: state.timer.take()) : nil
    }
    guard let ended else { return }
    HTTPActivity.change(by: -1)
    ended.timer?.cancel()
    if start != nil { Alarm.shared.remove(self) }
    guard case .failure(let error) = result else { return }
    ended.transfer?.cancel()
    request.onFailure?(error)
  }

  private func startTimer() {
    guard let wake = checkDeadlines(), start == nil else { return }
    let timer = spawn { [weak self, stopwatch] in
      var next: Duration? = wake
      while let wake = next, (try? await stopwatch.sleep(wake)) != nil { next = self?.checkDeadlines() }
    }
    state.withLock { $0.timer = timer }
    // It may have ended before its timer was stored.
    if state.withLock({ $0.machine.isEnded }) { timer.cancel() }
  }

  /// Ends the exchange if it is late; otherwise returns when to check again, from its start, and sets the alarm.
  fileprivate func checkDeadlines() -> Duration? {
    let now = stopwatch.elapsed()
    do {
      let wake = try state.withLock { state throws(HTTPError) in try state.machine.timer(at: now) }
      if let start, let wake { Alarm.shared.add(self, at: start.advanced(by: wake)) }
      // It may have ended before it was added.
      if start != nil, state.withLock({ $0.machine.isEnded }) { Alarm.shared.remove(self) }
      return wake
    } catch {
      finish(.failure(error))
      return nil
    }
  }
}

/// The state of a request and its redirects, as a value.
///
/// There is one hop for the request and one for each redirect. The first event that ends the request counts; later ones
/// change nothing. Times are passed in, relative to the start.
struct RequestMachine {
  private enum State {
    /// The request of the hop is being sent, or waits for its response.
    case asking
    /// The head of the response has arrived.
    case answered
    /// The request succeeded, failed or was cancelled.
    case ended(Result<Void, any Error>)
  }

  private let deadlines: HTTPDeadlines
  private var state = State.asking
  private var hop = 0
  /// Since when the server has to send something; nil while the request waits for a connection, and while the consumer
  /// does something else.
  private var start: Duration? = .zero

  init(_ deadlines: HTTPDeadlines) { self.deadlines = deadlines }

  var isEnded: Bool { end != nil }

  /// The result; nil before the end.
  var end: Result<Void, any Error>? { if case .ended(let result) = state { result } else { nil } }

  /// Some of the request was sent, or it starts or ends to wait for a connection.
  mutating func progressed(isWaiting: Bool = false, at now: Duration) {
    if case .asking = state { start = isWaiting ? nil : now }
  }

  /// The head of the hop's response has arrived: the final response, or one that leads to the next request.
  ///
  /// Throws `CancellationError` after the end, and ``HTTPError/tooManyRedirects`` after the tenth redirect.
  mutating func answer(isRedirect: Bool, at now: Duration) throws {
    guard case .asking = state else { throw CancellationError() }
    guard isRedirect else { return (state, start) = (.answered, nil) }
    guard hop < 10 else { throw HTTPError.tooManyRedirects }
    hop += 1
    start = now
  }

  /// The consumer starts to wait for a piece of the body; returns false when there will be none.
  mutating func read(at now: Duration) -> Bool {
    guard case .answered = state, start == nil else { return false }
    start = now
    return true
  }

  /// A piece has arrived; returns false when it comes after the end.
  mutating func chunk() -> Bool {
    guard case .answered = state else { return false }
    start = nil
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
    let (limit, kind): (Duration?, HTTPDeadlines.Kind)
    switch state {
    case .asking: (limit, kind) = (deadlines.headers, .headers)
    case .answered: (limit, kind) = (deadlines.idle, .idle)
    case .ended: return nil
    }
    let end = start.flatMap { start in limit.map { start + $0 } }
    let deadline = Self.shorter(end, deadlines.total)
    if let deadline, deadline <= now { throw .timedOut(deadline == deadlines.total ? .total : kind) }
    // Not longer than the shorter limit: the other one may start at any time.
    let soonest = Self.shorter(deadlines.headers, deadlines.idle).map { now + $0 }
    return Self.shorter(deadline, soonest)
  }

  /// Each request calls it, so it does without arrays.
  private static func shorter(_ first: Duration?, _ second: Duration?) -> Duration? {
    guard let first, let second else { return first ?? second }
    return min(first, second)
  }
}

/// Wakes exchanges at their deadlines, with one timer for all of them.
///
/// A sleeping task for each exchange would stay in the runtime's queue until its deadline, long after its request has
/// ended.
final class Alarm: Sendable {
  typealias Instant = ContinuousClock.Instant

  static let shared = Alarm()

  private struct Entry {
    weak let exchange: Exchange?
    let wake: Instant
  }

  private struct State {
    var entries: [ObjectIdentifier: Entry] = [:]
    /// When the timer fires next.
    var next: Instant?

    /// Returns when the timer has to be set to, if it has to be changed.
    mutating func set(to wake: Instant?) -> Instant? {
      guard let wake, next.map({ wake < $0 }) ?? true else { return nil }
      next = wake
      return wake
    }
  }

  private let queue = DispatchQueue(label: "StepwiseHTTP.Alarm")
  private let state = Lock(State())

  /// Wakes an exchange, unless it is removed before.
  func add(_ exchange: Exchange, at wake: Instant) {
    let timer = state.withLock { state in
      state.entries[ObjectIdentifier(exchange)] = Entry(exchange: exchange, wake: wake)
      return state.set(to: wake)
    }
    if let timer { schedule(timer) }
  }

  func remove(_ exchange: Exchange) {
    _ = state.withLock { $0.entries.removeValue(forKey: ObjectIdentifier(exchange)) }
  }

  private func schedule(_ wake: Instant) {
    let seconds = ContinuousClock.now.duration(to: wake) / .seconds(1)
    queue.asyncAfter(deadline: .now() + min(max(0, seconds), 1e9)) { self.ring() }
  }

  private func ring() {
    let now = ContinuousClock.now
    let (due, timer) = state.withLock { state in
      if let next = state.next, next <= now { state.next = nil }
      let due = state.entries.filter { $0.value.wake <= now }
      for id in due.keys { state.entries[id] = nil }
      return (due.values.compactMap(\.exchange), state.set(to: state.entries.values.map(\.wake).min()))
    }
    if let timer { schedule(timer) }
    for exchange in due { _ = exchange.checkDeadlines() }
  }
}

/// Measures time from one instant of any clock.
struct Stopwatch: Sendable {
  /// Returns the elapsed time.
  let elapsed: @Sendable () -> Duration
  /// Sleeps until the given time has elapsed since the start.
  let sleep: @concurrent @Sendable (_ until: Duration) async throws -> Void

  init(_ clock: some Clock<Duration>) {
    let start = clock.now
    elapsed = { start.duration(to: clock.now) }
    sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
  }
}

/// The number of requests in flight, as an asynchronous sequence that starts with the current number.
///
/// Use ``HTTP/activity`` to show an indicator while your app waits for a server. There may be any number of
/// subscribers; a slow one receives the newest number. The sequence ends when the iterating task is cancelled.
public struct HTTPActivity: AsyncSequence, Sendable {
  /// The number of requests in flight.
  public typealias Element = Int
  /// Iterating does not throw.
  public typealias Failure = Never

  private static let count = Broadcast<Int, Bool>(0)

  static func change(by difference: Int) {
    count.update { content in
      content.state += difference
      content.publish(true)
    }
  }

  /// The current number of requests in flight.
  public static var current: Int { count.update { $0.state } }

  /// Creates an iterator; each iterator is an independent subscription.
  public func makeAsyncIterator() -> Iterator { Iterator(subscription: Self.count.subscribe { _ in [true] }) }

  /// An iterator over the numbers for one subscriber.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: Broadcast<Int, Bool>.Subscription

    /// Waits for the next number in the isolation of an actor; returns nil when the task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
      await subscription.next { count, _ in count }
    }
  }
}

@available(*, unavailable)
extension HTTPActivity.Iterator: Sendable {}
