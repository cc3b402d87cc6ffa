// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Lets in so many at a time: those of a higher priority first, and among equals in the order in which they came.
struct GateMachine<Entrant> {
  typealias ID = UInt64

  /// What happens to one who comes while the gate is full, and to those who were there before.
  enum Mode {
    /// Waits for its turn.
    case queue
    /// Is refused.
    case refuse
    /// Waits in the place of whoever waited.
    case replaceWaiting
    /// Waits in the place of whoever waited, and those inside are asked to leave.
    case replaceAll
  }

  enum Verdict {
    case admitted, waiting, refused
  }

  struct Arrival {
    let id: ID
    let verdict: Verdict
    /// Those who lost their place by it.
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

  /// Somebody leaves, from inside or from the queue; returns whom to let in.
  ///
  /// Whoever is gone already changes nothing.
  mutating func leave(_ id: ID) -> [Entrant] {
    if inside.removeValue(forKey: id) == nil { withdraw(id) }
    return admit()
  }

  /// Somebody who waits leaves the queue; whoever is inside, or gone already, is left alone.
  mutating func withdraw(_ id: ID) {
    if let place = places.removeValue(forKey: id) { waiting.remove(place) }
  }

  mutating func suspend() { isSuspended = true }

  /// Returns whom to let in.
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
