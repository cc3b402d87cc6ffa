// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

/// One request on its way through a session, redirects included.
///
/// It is used by one consumer: first `head()`, then `chunk()` until that returns nil. A consumer that stops earlier calls
/// `stop(with:)`; one that goes away does so with the last reference.
final class Exchange: Sendable {
  struct State {
    var machine: RequestMachine
    /// The transfer of the latest hop.
    var transfer: (any HTTPTransfer)?
    var timer: Task<Void, Never>?
    /// Whether it counts among the requests in flight.
    var isCounted = false
  }

  /// How much of the body of a redirect is read so that its connection can be used again.
  private static let redirectBody = 64 * 1024

  let session: HTTPSession
  let stopwatch: Stopwatch
  /// Whether deadlines are in real time, so that the one alarm wakes this exchange.
  let usesAlarm: Bool
  let state: Lock<State>
  private let onFailure: (@Sendable (any Error) -> Void)?

  /// Creates an exchange, which sends nothing yet.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - session: What it is sent through.
  ///   - deadlines: How long it may take.
  ///   - onFailure: Called once, at once, when it fails, is stopped, or is late, also while nothing waits for it.
  init(
    _ request: OutgoingRequest,
    in session: HTTPSession,
    deadlines: HTTPDeadlines,
    onFailure: (@Sendable (any Error) -> Void)? = nil
  ) {
    self.session = session
    self.onFailure = onFailure
    stopwatch = Stopwatch(deadlines.clock)
    usesAlarm = deadlines.clock is ContinuousClock
    let limits = RequestMachine.Limits(headers: deadlines.headers, idle: deadlines.idle, total: deadlines.total)
    state = Lock(State(machine: RequestMachine(request, limits: limits)))
  }

  deinit { stop(with: CancellationError()) }

  /// Where the response comes from.
  var url: URL { state.withLock { $0.machine.request.url } }

  /// Sends the request, follows redirects, and waits for the head of the response.
  ///
  /// - Throws: ``HTTPError``; `CancellationError` at once when the Task is cancelled.
  nonisolated(nonsending) func head() async throws -> HTTPResponseHead {
    try Task.checkCancellation()
    return try await ended { try await self.send() }
  }

  /// Waits for the next piece of the body; nil at the end.
  ///
  /// - Throws: ``HTTPError``; `CancellationError` at once when the Task is cancelled.
  nonisolated(nonsending) func chunk() async throws -> Data? {
    let now = stopwatch.elapsed()
    let (transfer, end) = state.withLock { state in
      (state.machine.read(at: now) ? state.transfer : nil, state.machine.end)
    }
    guard let transfer else {
      try end?.get()
      return nil
    }
    let data = try await ended { try await transfer.chunk() }
    if let data, state.withLock({ $0.machine.chunk() }) { return data }
    finish(.success(()))
    // What ended it in the meantime counts.
    try state.withLock { $0.machine.end }?.get()
    return nil
  }

  /// Ends the request from outside: it was cancelled, or what it brings cannot be used.
  func stop(with error: any Error) { finish(.failure(error)) }

  /// Runs a part of the request, which a cancelled Task ends at once; what ended the request is what this throws.
  private nonisolated(nonsending) func ended<Value>(
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    try await withTaskCancellationHandler {
      do {
        return try await body()
      } catch {
        finish(.failure(error is CancellationError ? error : TransferFailure.error(error)))
        try state.withLock { $0.machine.end }?.get()
        throw error
      }
    } onCancel: {
      stop(with: CancellationError())
    }
  }

  private nonisolated(nonsending) func send() async throws -> HTTPResponseHead {
    HTTPActivity.begin()
    let started = state.withLock { state in
      let request = state.machine.start()
      state.isCounted = request != nil
      return request
    }
    guard var request = started else {
      HTTPActivity.end()
      throw CancellationError()
    }
    startTimer()
    while true {
      let transfer = session.transport.transfer(
        session.transferRequest(request) { [weak self] _ in self?.sent() }
      )
      // Ended meanwhile, it is not to be sent.
      guard state.withLock({ $0.add(transfer) }) else { throw CancellationError() }
      let head = try await transfer.head()
      session.keepCookies(of: head, from: request.url)
      let now = stopwatch.elapsed()
      switch state.withLock({ $0.machine.answer(head, at: now) }) {
      case .ignore: throw CancellationError()
      case .deliver: return head
      case .fail(let error):
        release(.failure(error))
        throw error
      case .follow(let next):
        await skipBody(of: transfer)
        request = next
      }
    }
  }

  /// Reads what little there is to the body of a redirect; gives up on more.
  private nonisolated(nonsending) func skipBody(of transfer: any HTTPTransfer) async {
    var count = 0
    while count <= Self.redirectBody, let data = try? await transfer.chunk() { count += data.count }
    transfer.cancel()
  }

  private func sent() {
    let now = stopwatch.elapsed()
    state.withLock { $0.machine.sent(at: now) }
  }

  private func finish(_ result: Result<Void, any Error>) {
    if state.withLock({ $0.machine.finish(result) }) { release(result) }
  }

  /// Called once, after the machine has ended.
  func release(_ result: Result<Void, any Error>) {
    let (transfer, timer, isCounted) = state.withLock { state in
      (state.transfer.take(), state.timer.take(), state.isCounted)
    }
    if isCounted { HTTPActivity.end() }
    timer?.cancel()
    if usesAlarm { Alarm.shared.remove(self) }
    guard case .failure(let error) = result else { return }
    transfer?.cancel()
    onFailure?(error)
  }
}

extension Exchange.State {
  /// Makes a transfer the current one; returns false when it has ended.
  mutating func add(_ transfer: any HTTPTransfer) -> Bool {
    guard !machine.isEnded else { return false }
    self.transfer = transfer
    return true
  }
}
