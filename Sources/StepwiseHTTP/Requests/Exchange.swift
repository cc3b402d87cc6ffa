// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request on its way through a session, redirects included.
final class Exchange: Sendable {
  typealias Answer = (head: ResponseHead, body: Data, url: URL)

  private struct State {
    var machine: RequestMachine
    /// The task of the latest hop.
    var task: URLSessionDataTask?
    var timer: Task<Void, Never>?
    /// Whether the body goes to the sink.
    var isSunk = false
  }

  private let session: HTTPSession
  private let sink: (any BodySink)?
  private let stopwatch: Stopwatch
  /// Whether deadlines are in real time, so that the one alarm wakes this exchange.
  private let usesAlarm: Bool
  private let state: Lock<State>
  private let result = Once<Result<Answer, any Error>>()

  init(_ request: OutgoingRequest, in session: HTTPSession, deadlines: HTTPDeadlines, sink: (any BodySink)?) {
    self.session = session
    self.sink = sink
    stopwatch = Stopwatch(deadlines.clock)
    usesAlarm = deadlines.clock is ContinuousClock
    let limits = RequestMachine.Limits(headers: deadlines.headers, idle: deadlines.idle, total: deadlines.total)
    state = Lock(State(machine: RequestMachine(request, limits: limits)))
  }

  /// Sends the request and waits for the end, which a cancelled Task brings about at once.
  nonisolated(nonsending) func answer() async throws -> Answer {
    try Task.checkCancellation()
    HTTPActivity.begin()
    return try await withTaskCancellationHandler {
      start()
      return await result.valueWhateverHappens()
    } onCancel: {
      stop(with: CancellationError())
    }.get()
  }

  private func start() {
    guard let request = state.withLock({ $0.machine.start() }) else { return }
    session.later { self.begin(request, hop: 0) }
    if usesAlarm { return lookAtTheTime() }
    guard let wake = wakeTime()?.wake else { return }
    let timer = spawn { await self.watch(from: wake) }
    let isLate = state.withLock { state in
      if !state.machine.isEnded { state.timer = timer }
      return state.machine.isEnded
    }
    if isLate { timer.cancel() }
  }

  private func begin(_ request: OutgoingRequest, hop: Int) {
    guard !state.withLock({ $0.machine.isEnded }) else { return }
    let task: URLSessionDataTask
    do { task = try session.task(for: request, of: self, hop: hop) } catch { return stop(with: error) }
    state.withLock { $0.task = task }
    if !uninterrupted(hop: hop, { task.resume() }) { session.cancel(task) }
  }

  /// Does something during which the task must not be cancelled; nothing when it was cancelled, or is about to be.
  ///
  /// URLSession on Linux traps when a task is cancelled while it waits for an answer of its delegate, which then comes.
  @discardableResult
  func uninterrupted(hop: Int, _ action: () -> Void) -> Bool {
    guard state.withLock({ $0.machine.hold(hop) }) else { return false }
    action()
    let task = state.withLock { state in state.machine.release(hop) ? state.task.take() : nil }
    if let task { session.cancel(task) }
    return true
  }

  func sent(hop: Int) {
    let now = stopwatch.elapsed()
    state.withLock { $0.machine.sent(hop, at: now) }
  }

  func receive(_ head: ResponseHead, hop: Int) {
    let now = stopwatch.elapsed()
    let (action, url) = state.withLock { ($0.machine.answer(hop, head, at: now), $0.machine.url) }
    if case .ignore = action { return }
    session.keepCookies(of: head, from: url)
    switch action {
    case .ignore, .skip: break
    case .fail(let error, let cancelsTask): finish(.failure(error), cancelsTask: cancelsTask)
    case .receive:
      guard let sink else { return }
      do {
        let isSunk = try sink.begin(head)
        state.withLock { $0.isSunk = isSunk }
      } catch {
        stop(with: error)
      }
    }
  }

  func receive(_ data: Data, hop: Int) {
    let now = stopwatch.elapsed()
    let (belongs, isSunk) = state.withLock { state in
      (state.machine.chunk(hop, data, keeping: !state.isSunk, at: now) != nil, state.isSunk)
    }
    guard belongs, isSunk, let sink else { return }
    do { try sink.write(data) } catch { stop(with: error) }
  }

  func complete(hop: Int, error: (any Error)?) {
    let now = stopwatch.elapsed()
    let failure = error.map(URLFailure.error)
    switch state.withLock({ $0.machine.complete(hop, failure: failure, at: now) }) {
    case .ignore: break
    case .follow(let request): session.later { self.begin(request, hop: hop + 1) }
    case .succeed(let head, let body, let url): finish(.success((head, body, url)), cancelsTask: false)
    case .fail(let error): finish(.failure(error), cancelsTask: false)
    }
  }

  private func stop(with error: any Error) {
    guard case .end(let cancelsTask) = state.withLock({ $0.machine.stop() }) else { return }
    finish(.failure(error), cancelsTask: cancelsTask)
  }

  /// Looks after the deadlines where the clock is the user's.
  private func watch(from first: Duration) async {
    var wake = Optional(first)
    while let time = wake, (try? await stopwatch.sleep(time)) != nil { wake = wakeTime()?.wake }
  }

  /// Looks after the deadlines where the clock is the real one, and says when to be woken again.
  func lookAtTheTime() {
    guard let (now, wake) = wakeTime() else { return }
    Alarm.shared.add(self, after: wake - now)
    // It may have ended meanwhile, and was not there yet when it was to be removed.
    if state.withLock({ $0.machine.isEnded }) { Alarm.shared.remove(self) }
  }

  /// Ends the exchange if it is late; says when it might be next, if ever.
  private func wakeTime() -> (now: Duration, wake: Duration)? {
    let now = stopwatch.elapsed()
    switch state.withLock({ $0.machine.timer(at: now) }) {
    case .sleep(let wake): return (now, wake)
    case .stop: return nil
    case .timeOut(let cancelsTask):
      finish(.failure(HTTPError.timedOut), cancelsTask: cancelsTask)
      return nil
    }
  }

  /// Called once, by whoever ended the machine.
  private func finish(_ result: Result<Answer, any Error>, cancelsTask: Bool) {
    // A task that is held is left to whoever holds it.
    let (task, timer) = state.withLock { state in (cancelsTask ? state.task.take() : nil, state.timer.take()) }
    HTTPActivity.end()
    self.result.settle(result)
    timer?.cancel()
    if usesAlarm { Alarm.shared.remove(self) }
    if let task { session.cancel(task) }
  }
}
