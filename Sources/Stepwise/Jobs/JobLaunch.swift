// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// What the chain of a job is given.
struct JobInput<Value: Sendable>: Sendable {
  let launch: JobLaunch
  let value: Value
}

/// One launch of a job, without its types: when it may work and for how long, and what listens to its run.
final class JobLaunch: RunListener {
  private let settings: JobSettings
  private let queue: JobQueueCore
  private let ticket: JobTicket
  private let place: JobQueueCore.Place
  private let deadline: (@Sendable () async throws -> Void)?
  private let value = Lock<JobValue?>(nil)
  /// Whether one of the job's own timers has fired.
  private let isTimeUp = Atomic(false)
  let channel: JobChannel

  init(name: String, settings: JobSettings, on queue: JobQueueCore) {
    self.settings = settings
    self.queue = queue
    deadline = settings.deadline?.timer
    channel = JobChannel(handlers: settings.beginning, owner: settings.owner)
    ticket = JobTicket(name: name, owner: settings.owner)
    place = queue.enter(ticket, priority: settings.priority ?? .medium)
  }

  // MARK: - The step of the chain

  /// Whether a timer is to be kept.
  var isLimited: Bool { settings.deadline != nil || settings.timeout != nil }

  /// Waits for its turn.
  ///
  /// - Throws: `CancellationError` when the Task that waits is cancelled.
  nonisolated(nonsending) func waitForTurn() async throws { try await ticket.waitForTurn() }

  /// Waits for its turn and does the work, as long as there is time.
  ///
  /// - Throws: what the work throws; `TimeoutError` when there was no time left.
  nonisolated(nonsending) func limited<Output: Sendable>(
    _ work: @escaping @Sendable () async throws -> Output
  ) async throws -> Output {
    guard let deadline, let limit = settings.deadline else { return try await limitedInTurn(work) }
    return try await Stepwise.limited(to: limit.duration, timer: deadline, step: timeIsUp) {
      try await self.limitedInTurn(work)
    }
  }

  private nonisolated(nonsending) func limitedInTurn<Output: Sendable>(
    _ work: @escaping @Sendable () async throws -> Output
  ) async throws -> Output {
    try await waitForTurn()
    guard let limit = settings.timeout else { return try await work() }
    return try await Stepwise.limited(to: limit.duration, clock: limit.clock, step: timeIsUp, operation: work)
  }

  /// Keeps what the work returned, where somebody is to be told.
  func keep(_ output: () -> JobValue) {
    guard !settings.ending.onFinish.isEmpty else { return }
    let output = output()
    value.withLock { $0 = output }
  }

  /// Decides that it was the job's own timer; called before the work is cancelled for it.
  private var timeIsUp: @Sendable () -> String {
    {
      self.isTimeUp.store(true, ordering: .releasing)
      return self.ticket.name
    }
  }

  // MARK: - The run

  func attach(_ run: RunCore) { ticket.attach(run) }

  /// Before the work begins, which may have something to tell; a run that is cancelled already is silent.
  func begin() { channel.start() }

  func stop() {
    channel.silence()
    queue.withdraw(place)
  }

  nonisolated(nonsending) func conclude(_ outcome: Outcome<Void>) async {
    channel.close()
    if case .cancelled = outcome { channel.silence() }
    let end = reported(outcome)
    // A handler that is being called is waited for also when nothing follows it.
    if channel.isTelling || (end != nil && !channel.isSilent) {
      await CancellationScope.$current.withValue(nil) { await tell(end) }
    }
    channel.finish()
    ticket.detach()
    queue.leave(ticket, at: place)
  }

  /// How the job ended, for those who are told; nil when nobody is.
  private func reported(_ outcome: Outcome<Void>) -> Outcome<JobValue>? {
    switch outcome {
    // Kept where somebody is to be told.
    case .resolved: value.withLock { $0.take() }.map { .resolved($0) }
    case .failed(let error): settings.ending.isEmpty ? nil : .failed(error)
    case .cancelled: nil
    }
  }

  @MainActor private func tell(_ end: Outcome<JobValue>?) async {
    await channel.tell()
    guard let end, channel.mayTell else { return }
    let isTimeout = isTimeUp.load(ordering: .acquiring)
    for call in settings.ending.calls(for: end, isTimeout: isTimeout) where channel.mayTell { call() }
  }
}
