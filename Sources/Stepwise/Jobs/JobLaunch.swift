// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// The input of a job's chain.
struct JobInput<Value: Sendable>: Sendable {
  let launch: JobLaunch
  let value: Value
}

/// One launch of a job, without its types: its slot in the queue, its time limits, and its handlers.
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

  /// Whether the job has a time limit.
  var isLimited: Bool { settings.deadline != nil || settings.timeout != nil }

  /// Waits for a slot in the queue.
  ///
  /// - Throws: `CancellationError` when the waiting task is cancelled.
  nonisolated(nonsending) func waitForTurn() async throws { try await ticket.waitForTurn() }

  /// Waits for a slot and does the work, within the time limits.
  ///
  /// - Throws: The error of the work; `TimeoutError` when no time was left.
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

  /// Stores the output of the work for the handlers, if there are any.
  func keep(_ output: () -> JobValue) {
    guard !settings.ending.onFinish.isEmpty else { return }
    let output = output()
    value.withLock { $0 = output }
  }

  /// Records that the job's own timer fired; called before the work is cancelled for it.
  private var timeIsUp: @Sendable () -> String {
    {
      self.isTimeUp.store(true, ordering: .releasing)
      return self.ticket.name
    }
  }

  // MARK: - The run

  var blockers: [RunState] { ticket.isWaiting ? queue.blockers : [] }

  func attach(_ run: RunState) { ticket.attach(run) }

  /// Called before the work starts; a run that is already cancelled calls no handler.
  func begin() { channel.start() }

  func stop() {
    channel.silence()
    queue.withdraw(place)
  }

  nonisolated(nonsending) func conclude(_ outcome: Outcome<Void>) async {
    channel.close()
    if case .cancelled = outcome { channel.silence() }
    let end = reported(outcome)
    // A handler that is in progress is awaited even when no call follows it.
    if channel.isTelling || (end != nil && !channel.isSilent) {
      await CancellationScope.$current.withValue(nil) { await tell(end) }
    }
    channel.finish()
    ticket.detach()
    queue.leave(ticket, at: place)
  }

  /// Returns the outcome for the handlers; nil when there are none to call.
  private func reported(_ outcome: Outcome<Void>) -> Outcome<JobValue>? {
    switch outcome {
    // Only stored when there are handlers for it.
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
