// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The state of a queue that its jobs share.
///
/// Jobs retain it instead of the queue.
final class JobQueueCore: Sendable {
  typealias Place = GateID

  private let gate: Gate<JobTicket>
  private let isSerial: Bool
  private let tickets = Lock([String: [Place: JobTicket]]())

  init(maxConcurrent: Int) {
    gate = Gate(slots: maxConcurrent) { $0.admit() }
    isSerial = maxConcurrent <= 1
  }

  func suspend() { gate.suspend() }
  func resume() { gate.resume() }

  /// The run that must end before any job that waits can begin; none unless the queue is serial.
  var blockers: [RunState] { isSerial ? gate.insiders.compactMap(\.run) : [] }

  // MARK: - Cancelling

  /// Cancels the jobs with a name, and with an owner if there is one.
  func cancel(named name: String, boundTo owner: AnyObject?, reason: String?) {
    var named = tickets.withLock { Array($0[name, default: [:]]) }
    if let owner { named.removeAll { $0.value.owner?.isSame(owner) != true } }
    cancel(named, reason: reason)
  }

  func cancelAll(reason: String?) {
    cancel(tickets.withLock { $0.values.flatMap { Array($0) } }, reason: reason)
  }

  private func cancel(_ tickets: [(key: Place, value: JobTicket)], reason: String?) {
    // Withdraws all of them at one instant, before a running job frees a slot.
    gate.withdraw(tickets.map(\.key))
    for (_, ticket) in tickets.sorted(by: { $0.key < $1.key }) { ticket.cancel(reason: reason) }
  }

  // MARK: - Slots

  func enter(_ ticket: JobTicket, priority: TaskPriority) -> Place {
    let action = gate.arrive(ticket, mode: .queue, priority: Int(priority.rawValue))
    tickets.withLock { $0[ticket.name, default: [:]][action.id] = ticket }
    if case .admit = action { ticket.admit() }
    return action.id
  }

  /// Removes a waiting job from the queue; a running job keeps its slot.
  func withdraw(_ place: Place) { gate.withdraw(CollectionOfOne(place)) }

  func leave(_ ticket: JobTicket, at place: Place) {
    tickets.withLock { tickets in
      tickets[ticket.name]?[place] = nil
      if tickets[ticket.name]?.isEmpty ?? false { tickets[ticket.name] = nil }
    }
    gate.leave(place)
  }
}
