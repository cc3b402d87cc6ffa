// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

typealias GateID = UInt64

/// What happens when an entrant arrives and no slot is free.
enum GateMode {
  case queue
  case refuse
  /// It waits and replaces the entrants that were waiting.
  case replaceWaiting
  /// It waits and replaces the entrants that were waiting; those inside are cancelled.
  case replaceAll
}

/// Admits a limited number of entrants: those of a higher priority first, and equals in order of arrival.
struct GateMachine<Entrant> {
  enum ArriveAction {
    case admit(GateID)
    /// It waits, and those that it displaces have to be cancelled.
    case wait(GateID, displaced: [Entrant])
    case refuse(GateID)
  }

  private let slots: Int
  private var inside: [GateID: Entrant] = [:]
  /// Empty while a slot is free, unless the gate is suspended.
  private var queue = Queue()
  private var isSuspended = false
  private var nextID: GateID = 0

  init(slots: Int) {
    self.slots = max(1, slots)
  }

  var entrants: [(id: GateID, entrant: Entrant)] {
    (inside.map { (id: $0, entrant: $1) } + queue.entrants).sorted { $0.id < $1.id }
  }

  func isInside(_ id: GateID) -> Bool { inside[id] != nil }

  func isWaiting(_ id: GateID) -> Bool { queue.contains(id) }

  mutating func arrive(_ entrant: Entrant, mode: GateMode, priority: Int = 0) -> ArriveAction {
    let id = nextID
    nextID += 1
    if hasRoom {
      inside[id] = entrant
      return .admit(id)
    }
    var displaced: [Entrant] = []
    switch mode {
    case .queue: break
    case .refuse: return .refuse(id)
    case .replaceWaiting: displaced = queue.removeAll()
    case .replaceAll: displaced = inside.values + queue.removeAll()
    }
    queue.append(entrant, as: id, priority: priority)
    return .wait(id, displaced: displaced)
  }

  /// An entrant leaves, from inside or from the queue; one that has left already has no effect.
  ///
  /// - Returns: The entrants to admit.
  mutating func leave(_ id: GateID) -> [Entrant] {
    if inside.removeValue(forKey: id) == nil { queue.remove(id) }
    return admit()
  }

  /// Removes a waiting entrant from the queue; does nothing for one that is inside or has left.
  mutating func withdraw(_ id: GateID) { queue.remove(id) }

  mutating func suspend() { isSuspended = true }

  /// - Returns: The entrants to admit.
  mutating func resume() -> [Entrant] {
    isSuspended = false
    return admit()
  }

  private var hasRoom: Bool { !isSuspended && inside.count < slots }

  private mutating func admit() -> [Entrant] {
    var admitted: [Entrant] = []
    while hasRoom, let next = queue.popFirst() {
      inside[next.id] = next.entrant
      admitted.append(next.entrant)
    }
    return admitted
  }

  /// The entrants that wait, in order of arrival for each priority; there are few priorities.
  private struct Queue {
    private struct Waiter {
      let entrant: Entrant
      let priority: Int
      let key: OrderedSlots<GateID>.Key
    }

    private var order: [Int: OrderedSlots<GateID>] = [:]
    private var waiting: [GateID: Waiter] = [:]

    var entrants: [(id: GateID, entrant: Entrant)] { waiting.map { (id: $0, entrant: $1.entrant) } }

    func contains(_ id: GateID) -> Bool { waiting[id] != nil }

    mutating func append(_ entrant: Entrant, as id: GateID, priority: Int) {
      let key = order[priority, default: OrderedSlots()].append(id)
      waiting[id] = Waiter(entrant: entrant, priority: priority, key: key)
    }

    mutating func remove(_ id: GateID) {
      if let waiter = waiting.removeValue(forKey: id) { order[waiter.priority]?.remove(waiter.key) }
    }

    mutating func popFirst() -> (id: GateID, entrant: Entrant)? {
      let priority = order.lazy.filter { !$1.isEmpty }.map(\.key).max()
      guard let priority, let id = order[priority]?.popFirst() else { return nil }
      return waiting.removeValue(forKey: id).map { (id, $0.entrant) }
    }

    mutating func removeAll() -> [Entrant] {
      var all: [Entrant] = []
      while let next = popFirst() { all.append(next.entrant) }
      return all
    }
  }
}
