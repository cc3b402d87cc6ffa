// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Says when the jobs launched on it begin: so many at a time, the others in the order of the calls.
///
/// Among those that wait, the ones of a higher priority begin first; see ``Job/priority(_:)``. A job has its place until its
/// last handler has returned, so that what a serial queue runs never overlaps, handlers included. A job whose work launches
/// another on the same serial queue and waits for it there waits for ever: give that one a queue of its own.
public final class JobQueue: Sendable {
  /// A serial queue for all jobs that are launched on no other.
  public static let shared = JobQueue(maxConcurrent: 1)

  private let gate: Gate<JobTicket>
  private let tickets = Lock([String: [GateMachine<JobTicket>.ID: JobTicket]]())

  /// Creates a queue in which nothing waits.
  ///
  /// - Parameter maxConcurrent: How many jobs run at once; less than one counts as one.
  public init(maxConcurrent: Int) {
    gate = Gate(slots: maxConcurrent) { $0.admit() }
  }

  /// Begins no further job until ``resume()``; those that run go on.
  ///
  /// Jobs may still be launched, and their `onStart` handlers are told at once.
  public func suspend() { gate.suspend() }

  /// Goes on after ``suspend()``.
  public func resume() { gate.resume() }

  /// Cancels the jobs of one name, those that run and those that wait.
  ///
  /// What holds for ``JobRun/cancel(reason:)`` holds for each of them. None of those that wait begins any more.
  ///
  /// - Parameters:
  ///   - name: The name that the jobs were made with.
  ///   - reason: Why, for those who are told.
  public func cancel(named name: String, reason: String? = nil) {
    cancel(tickets.withLock { Array($0[name, default: [:]]) }, reason: reason)
  }

  /// Cancels the jobs of one name that are bound to one owner, those that run and those that wait.
  ///
  /// - Parameters:
  ///   - name: The name that the jobs were made with.
  ///   - owner: Whom they were bound to by `bound(to:)`.
  ///   - reason: Why, for those who are told.
  public func cancel(named name: String, boundTo owner: AnyObject, reason: String? = nil) {
    let all = tickets.withLock { Array($0[name, default: [:]]) }
    cancel(all.filter { $0.value.owner?.isSame(owner) ?? false }, reason: reason)
  }

  /// Cancels all jobs, those that run and those that wait.
  ///
  /// The queue stays usable. None of the jobs that wait begins any more.
  ///
  /// - Parameter reason: Why, for those who are told.
  public func cancelAll(reason: String? = nil) {
    cancel(tickets.withLock { $0.values.flatMap { Array($0) } }, reason: reason)
  }

  private func cancel(_ tickets: [(key: GateMachine<JobTicket>.ID, value: JobTicket)], reason: String?) {
    // All at one instant, before any of those that run makes room.
    gate.withdraw(tickets.map(\.key))
    for (_, ticket) in tickets.sorted(by: { $0.key < $1.key }) { ticket.cancel(reason: reason) }
  }

  // MARK: - For jobs

  typealias Place = GateMachine<JobTicket>.ID

  func enter(_ ticket: JobTicket, priority: TaskPriority) -> Place {
    let arrival = gate.arrive(ticket, mode: .queue, priority: Int(priority.rawValue))
    tickets.withLock { $0[ticket.name, default: [:]][arrival.id] = ticket }
    if arrival.verdict == .admitted { ticket.admit() }
    return arrival.id
  }

  /// Leaves the queue if it waits there; one that runs keeps its place.
  func withdraw(_ place: Place) { gate.withdraw(CollectionOfOne(place)) }

  func leave(_ ticket: JobTicket, at place: Place) {
    tickets.withLock { tickets in
      tickets[ticket.name]?[place] = nil
      if tickets[ticket.name]?.isEmpty ?? false { tickets[ticket.name] = nil }
    }
    gate.leave(place)
  }
}
