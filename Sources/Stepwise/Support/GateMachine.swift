// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Admits a limited number of entrants: those of a higher priority first, and equals in order of arrival.
struct GateMachine<Entrant> {
  typealias ID = UInt64

  /// What happens when an entrant arrives at a full gate.
  enum Mode {
    /// It waits for a slot.
    case queue
    /// It is refused.
    case refuse
    /// It waits and replaces the entrants that were waiting.
    case replaceWaiting
    /// It waits and replaces the entrants that were waiting; those inside are cancelled.
    case replaceAll
  }

  enum Verdict {
    case admitted, waiting, refused
  }

  struct Arrival {
    let id: ID
    let verdict: Verdict
    /// The entrants that were displaced.
    var displaced: [Entrant] = []
  }

  private struct Waiter {
    let id: ID
    let entrant: Entrant
  }

  private let slots: Int
  private var isSuspended = false
  private var nextID: ID = 0
  private var inside: [ID: Entrant] = [:]
  private var waiting = RankedSlots<Waiter>()
  private var places: [ID: RankedSlots<Waiter>.Key] = [:]

  init(slots: Int) {
    self.slots = max(1, slots)
  }

  var insiders: [Entrant] { Array(inside.values) }
  var insideCount: Int { inside.count }
  var waitingCount: Int { waiting.count }
  private var isOpen: Bool { !isSuspended && inside.count < slots }

  mutating func arrive(_ entrant: Entrant, mode: Mode, priority: Int = 0) -> Arrival {
    let id = nextID
    nextID += 1
    if isOpen, waiting.isEmpty {
      inside[id] = entrant
      return Arrival(id: id, verdict: .admitted)
    }
    var displaced: [Entrant] = []
    switch mode {
    case .queue: break
    case .refuse: return Arrival(id: id, verdict: .refused)
    case .replaceWaiting: displaced = removeWaiting()
    case .replaceAll: displaced = Array(inside.values) + removeWaiting()
    }
    places[id] = waiting.append(Waiter(id: id, entrant: entrant), rank: priority)
    return Arrival(id: id, verdict: .waiting, displaced: displaced)
  }

  /// An entrant leaves, from inside or from the queue.
  ///
  /// Returns the entrants to admit.
  ///
  /// An entrant that has already left has no effect.
  mutating func leave(_ id: ID) -> [Entrant] {
    if inside.removeValue(forKey: id) == nil { withdraw(id) }
    return admit()
  }

  /// Removes a waiting entrant from the queue; does nothing for one that is inside or has left.
  mutating func withdraw(_ id: ID) {
    if let place = places.removeValue(forKey: id) { waiting.remove(place) }
  }

  mutating func suspend() { isSuspended = true }

  /// Returns the entrants to admit.
  mutating func resume() -> [Entrant] {
    isSuspended = false
    return admit()
  }

  private mutating func admit() -> [Entrant] {
    var admitted: [Entrant] = []
    while isOpen, let next = waiting.popFirst() {
      places[next.id] = nil
      inside[next.id] = next.entrant
      admitted.append(next.entrant)
    }
    return admitted
  }

  private mutating func removeWaiting() -> [Entrant] {
    places.removeAll()
    return waiting.removeAll().map(\.entrant)
  }
}
