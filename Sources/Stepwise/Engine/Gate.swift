// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a run enters a gate: that of its chain, or that of a queue of jobs.
struct Entrance: Sendable {
  let gate: Gate
  let mode: GateMode
  /// The overlap policy, as the reason for which a run that is refused or displaced is cancelled.
  let policy: String
  var priority = 0
}

extension Entrance {
  /// Returns nil for a policy without a gate.
  init?(_ overlap: Overlap) {
    guard let mode = overlap.mode else { return nil }
    self.init(gate: Gate(capacity: overlap.capacity), mode: mode, policy: overlap.name)
  }
}

/// A gate for a number of runs: first come, first served within a priority.
final class Gate: Sendable {
  private let machine: Lock<GateMachine<Execution>>
  /// How many runs it admits at once.
  let capacity: Int

  init(capacity: Int) {
    machine = Lock(GateMachine(capacity: capacity))
    self.capacity = max(1, capacity)
  }

  func arrive(_ run: Execution, by entrance: Entrance) -> GateMachine<Execution>.ArriveAction {
    machine.withLock { $0.arrive(run, mode: entrance.mode, priority: entrance.priority) }
  }

  var entrants: [(id: GateID, entrant: Execution)] { machine.withLock { $0.entrants } }

  /// Removes waiting runs from the queue, all at one instant.
  func withdraw(_ ids: some Sequence<GateID>) {
    machine.withLock { machine in
      for id in ids { machine.withdraw(id) }
    }
  }

  func leave(_ id: GateID) { change { $0.leave(id) } }

  func suspend() { machine.withLock { $0.suspend() } }

  func resume() { change { $0.resume() } }

  private func change(_ admit: (inout GateMachine<Execution>) -> [Execution]) {
    for run in machine.withLock({ admit(&$0) }) { run.admit() }
  }
}

// MARK: - A run at its gate

extension Execution {
  /// Whether it waits for its gate.
  var isWaiting: Bool { state.withLock { $0.machine.isWaiting } }

  /// Whether it has passed its gate, or needs to pass none.
  var isAdmitted: Bool { state.withLock { $0.machine.isAdmitted } }

  /// Arrives at the gate, if there is one, and cancels a run that is refused or displaced.
  func enterGate() {
    guard let entrance else { return }
    let canceller = RunCode.current ?? stepJournal.map { RunCode(of: $0) }
    let request = CancellationRequest(.overlapPolicy, reason: entrance.policy, by: canceller)
    switch entrance.gate.arrive(self, by: entrance) {
    case .admit(let id):
      state.withLock { state in
        state.gateID = id
        state.machine.admit()
      }
    case .refuse:
      // A further process may find room where another run is now.
      let entrants = entrance.gate.entrants.map(\.entrant)
      if let journal, !ownsJournal, entrants.contains(where: { ($0.journal ?? $0.stepJournal) !== journal }) {
        journal.stop(.part)
      }
      cancel(request)
    case .wait(let id, let displaced):
      for run in displaced { run.cancel(request) }
      state.withLock { $0.gateID = id }
    }
  }

  var admission: Once<Void> { state.withLock { $0.admission.stored(or: Once()) } }

  func admit() {
    state.withLock { $0.machine.admit() }
    admission.settle(())
  }

  /// Makes room at the gate, or leaves its queue.
  func leaveGate() { if let id = state.withLock({ $0.gateID }) { entrance?.gate.leave(id) } }

  /// Whether the run takes up room at a gate.
  func occupies(_ gate: Gate) -> Bool { gate === entrance?.gate && isAdmitted && !isCompleted }
}

// MARK: - Before the first step

extension Execution {
  /// Waits for the gate and takes the input from the journal.
  ///
  /// - Returns: The outcome of a run that does not begin here, and so has no handlers to call: it has ended before, or the
  ///   journal cannot begin it. Nil when the run begins, or when its cancellation ends it before its first step.
  func prepare(_ slot: inout ValueSlot, error pendingError: inout (any Error)?) async -> Outcome<Void>? {
    do {
      if entrance != nil { try await waitForEntry() }
      if hasRequest { throw CancellationError() }
    } catch {
      pendingError = error
      return nil
    }
    guard ownsJournal, let journal else { return nil }
    return await begin(journal, &slot, error: &pendingError)
  }

  /// Waits for the gate; between the steps of a run with a journal, what follows has its place in the order there.
  private func waitForEntry() async throws {
    guard let journal, !ownsJournal else { return try await waitForAdmission() }
    try await journal.offExecutor(as: .admission) { await Result.of { try await self.waitForAdmission() } }.get()
  }

  private func begin(
    _ journal: any RunJournal,
    _ slot: inout ValueSlot,
    error pendingError: inout (any Error)?
  ) async -> Outcome<Void>? {
    func put<Value: Sendable>(_ value: Value) { slot = ValueSlot(value) }
    let interrupt: @Sendable (String?) -> Void = { [weak self] reason in
      _ = self?.interrupt(CancellationRequest(.journal, reason: reason))
    }
    do {
      switch try await journal.begin(interrupt) {
      case .input(let input): put(input)
      case .ended(let outcome):
        if case .resolved(let output) = outcome { put(output) }
        return outcome.map { _ in }
      }
    } catch let error where hasRequest {
      pendingError = error
    } catch {
      await journal.end()
      return .failed(error)
    }
    return nil
  }
}
