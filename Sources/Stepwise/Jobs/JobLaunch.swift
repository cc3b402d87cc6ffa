// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// One launch of a job: what its chain is given to work on, and what listens to the run.
final class JobLaunch<Input: Sendable, Update: Sendable, Output: Sendable>: RunListener {
  typealias Work = nonisolated(nonsending) @Sendable (Input, JobContext<Update>) async throws -> Output

  private let input: Input
  private let settings: JobSettings<Update, Output>
  private let queue: JobQueue
  private let ticket: JobTicket
  private let place: JobQueue.Place
  private let deadline: (@Sendable () async throws -> Void)?
  private let value = Lock<Output?>(nil)
  /// Whether one of the job's own timers has fired.
  private let isTimeUp = Atomic(false)
  let channel: JobChannel<Update>

  init(_ input: Input, name: String, settings: JobSettings<Update, Output>, on queue: JobQueue) {
    self.input = input
    self.settings = settings
    self.queue = queue
    deadline = settings.deadline?.timer
    channel = JobChannel(handlers: settings.beginning, owner: settings.owner)
    ticket = JobTicket(name: name, owner: settings.owner)
    place = queue.enter(ticket, priority: settings.priority ?? .medium)
  }

  // MARK: - The step of the chain

  /// Waits for its turn and does the work, as long as there is time.
  ///
  /// - Throws: what the work throws; `TimeoutError` when there was no time left.
  nonisolated(nonsending) func perform(_ work: @escaping Work) async throws -> Output {
    let output: Output
    if let deadline, let limit = settings.deadline {
      output = try await limited(to: limit.duration, timer: deadline, step: timeIsUp) {
        try await self.performInTurn(work)
      }
    } else {
      output = try await performInTurn(work)
    }
    if !settings.ending.onFinish.isEmpty { value.withLock { $0 = output } }
    return output
  }

  private nonisolated(nonsending) func performInTurn(_ work: @escaping Work) async throws -> Output {
    try await ticket.waitForTurn()
    let (input, context) = (input, JobContext(channel: channel))
    guard let limit = settings.timeout else { return try await work(input, context) }
    return try await limited(to: limit.duration, clock: limit.clock, step: timeIsUp) {
      try await work(input, context)
    }
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

  func stop() {
    channel.silence()
    queue.withdraw(place)
  }

  nonisolated(nonsending) func conclude(_ outcome: Outcome<Void>) async {
    channel.close()
    if case .cancelled = outcome { channel.silence() }
    let calls = calls(for: outcome)
    if !channel.isSilent, !calls.isEmpty || channel.isOwing {
      await CancellationScope.$current.withValue(nil) { await tell(calls) }
    }
    channel.finish()
    ticket.detach()
    queue.leave(ticket, at: place)
  }

  private func calls(for outcome: Outcome<Void>) -> [@MainActor () -> Void] {
    let isTimeout = isTimeUp.load(ordering: .acquiring)
    let typed: Outcome<Output>
    switch outcome {
    case .resolved:
      // Kept where somebody is to be told.
      guard let value = value.withLock({ $0.take() }) else { return [] }
      typed = .resolved(value)
    case .failed(let error): typed = .failed(error)
    case .cancelled(let cancellation): typed = .cancelled(cancellation)
    }
    return settings.ending.calls(for: typed, isTimeout: isTimeout)
  }

  @MainActor private func tell(_ calls: [@MainActor () -> Void]) async {
    await channel.tell()
    for call in calls where channel.mayTell { call() }
  }
}
