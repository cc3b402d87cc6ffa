// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

typealias GateID = UInt64

/// What happens when an entrant arrives and there is no room.
enum GateMode {
  case queue
  case refuse
  /// It waits and replaces the entrants that were waiting.
  case replaceWaiting
  /// It waits and replaces the entrants that were waiting; the admitted ones are cancelled.
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

  private let capacity: Int
  private(set) var admitted: [GateID: Entrant] = [:]
  /// Empty while there is room, unless the gate is suspended.
  private var queue = Queue()
  private var isSuspended = false
  private var nextID: GateID = 0

  init(capacity: Int) { self.capacity = max(1, capacity) }

  var entrants: [(id: GateID, entrant: Entrant)] {
    (admitted.map { (id: $0, entrant: $1) } + queue.entrants).sorted { $0.id < $1.id }
  }

  mutating func arrive(_ entrant: Entrant, mode: GateMode, priority: Int = 0) -> ArriveAction {
    let id = nextID
    nextID += 1
    if hasRoom {
      admitted[id] = entrant
      return .admit(id)
    }
    var displaced: [Entrant] = []
    switch mode {
    case .queue: break
    case .refuse: return .refuse(id)
    case .replaceWaiting: displaced = queue.removeAll()
    case .replaceAll: displaced = admitted.values + queue.removeAll()
    }
    queue.append(entrant, as: id, priority: priority)
    return .wait(id, displaced: displaced)
  }

  /// An admitted entrant leaves, or one in the queue; one that has left already has no effect.
  ///
  /// - Returns: The entrants to admit.
  mutating func leave(_ id: GateID) -> [Entrant] {
    if admitted.removeValue(forKey: id) == nil { queue.remove(id) }
    return admit()
  }

  /// Removes a waiting entrant from the queue; does nothing for one that is admitted or has left.
  mutating func withdraw(_ id: GateID) { queue.remove(id) }

  mutating func suspend() { isSuspended = true }

  /// - Returns: The entrants to admit.
  mutating func resume() -> [Entrant] {
    isSuspended = false
    return admit()
  }

  private var hasRoom: Bool { !isSuspended && admitted.count < capacity }

  private mutating func admit() -> [Entrant] {
    var new: [Entrant] = []
    while hasRoom, let next = queue.popFirst() {
      admitted[next.id] = next.entrant
      new.append(next.entrant)
    }
    return new
  }

  /// The entrants that wait, in order of arrival for each priority; there are few priorities.
  private struct Queue {
    private typealias Order = OrderedSlots<(id: GateID, entrant: Entrant)>

    private var order: [Int: Order] = [:]
    private var places: [GateID: (priority: Int, key: Order.Key)] = [:]

    var entrants: [(id: GateID, entrant: Entrant)] { order.values.flatMap(\.elements) }

    mutating func append(_ entrant: Entrant, as id: GateID, priority: Int) {
      places[id] = (priority, order[priority, default: Order()].append((id, entrant)))
    }

    mutating func remove(_ id: GateID) {
      if let (priority, key) = places.removeValue(forKey: id) { order[priority]?.remove(key) }
    }

    mutating func popFirst() -> (id: GateID, entrant: Entrant)? {
      guard !places.isEmpty, let priority = order.lazy.filter({ !$1.isEmpty }).map(\.key).max(),
        let first = order[priority]?.popFirst()
      else { return nil }
      places[first.id] = nil
      return first
    }

    mutating func removeAll() -> [Entrant] {
      var all: [Entrant] = []
      while let next = popFirst() { all.append(next.entrant) }
      return all
    }
  }
}
