// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Delivers the reports of one job's work to the handlers on the main actor and to the subscribers of its updates.
final class JobChannel: Sendable {
  /// The newest update, for subscribers.
  struct Latest {
    fileprivate(set) var update: JobValue?
    fileprivate var isLast = false
  }

  /// The only key of the broadcast.
  enum Key: Hashable, Sendable {
    case latest
  }

  struct Handlers: Sendable {
    var onStart: [@MainActor () -> Void] = []
    var onUpdate: [@MainActor (JobValue) -> Void] = []
  }

  private let machine = Lock(JobChannelMachine<JobValue>())
  /// Released on completion, so that work that retains its context does not retain a screen.
  private let handlers: Lock<Handlers>
  private let owner: JobOwner?
  private let tellsUpdates: Bool
  let latest = Broadcast<Latest, Key>(Latest())

  init(handlers: Handlers, owner: JobOwner?) {
    self.handlers = Lock(handlers)
    self.owner = owner
    tellsUpdates = !handlers.onUpdate.isEmpty
  }

  // MARK: - From the work

  func start() {
    guard handlers.withLock({ !$0.onStart.isEmpty }) else { return }
    owe(.start)
  }

  func update(_ update: JobValue) {
    if tellsUpdates { owe(.update(update)) }
    _ = latest.update { content -> JobValue? in
      guard !content.state.isLast else { return nil }
      content.publish(.latest)
      return exchange(&content.state.update, with: update)
    }
  }

  private func owe(_ call: JobChannelMachine<JobValue>.Call) {
    guard machine.withLock({ $0.owe(call) }) else { return }
    if CancellationScope.current == nil, StepContext.current == nil {
      _ = spawn { @MainActor in await self.tell() }
      return
    }
    // The handlers are shielded from the cancellation of the work, and have no step to report to.
    _ = spawn { @MainActor in
      await CancellationScope.$current.withValue(nil) {
        await StepContext.$current.withValue(nil) { await self.tell() }
      }
    }
  }

  /// The work has ended; later updates are ignored.
  func close() {
    machine.withLock { $0.close() }
    latest.update { $0.state.isLast = true }
  }

  func silence() { _ = machine.withLock { $0.silence() } }

  func finish() {
    latest.update { $0.finish() }
    _ = handlers.withLock { exchange(&$0, with: Handlers()) }
  }

  // MARK: - On the main actor

  /// Whether a handler call is pending or in progress.
  var isTelling: Bool { machine.withLock { $0.isTelling } }
  var isSilent: Bool { machine.withLock { $0.isSilent } }

  /// Whether a handler may be called now; false once the owner is deallocated.
  @MainActor var mayTell: Bool {
    if let owner, !owner.isAlive { silence() }
    return !isSilent
  }

  /// Makes the pending calls, and yields the main actor now and then when there are many.
  @MainActor func tell() async {
    var count = 0
    while let call = machine.withLock({ $0.next() }) {
      let handlers = handlers.withLock { $0 }
      switch call {
      case .start: for handler in handlers.onStart where mayTell { handler() }
      case .update(let update): for handler in handlers.onUpdate where mayTell { handler(update) }
      }
      count += 1
      if count.isMultiple(of: 64) { await Task.yield() }
    }
  }
}
