// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A gate with a number of slots: first come, first served within a priority.
final class Gate<Entrant: Sendable>: Sendable {
  private let machine: Lock<GateMachine<Entrant>>
  private let admit: @Sendable (Entrant) -> Void
  /// Whether an entrant inside keeps all others out.
  let hasOneSlot: Bool

  /// - Parameters:
  ///   - slots: The maximum number of entrants inside; at least one.
  ///   - admit: Notifies a waiting entrant that it has a slot.
  init(slots: Int, admit: @escaping @Sendable (Entrant) -> Void) {
    machine = Lock(GateMachine(slots: slots))
    hasOneSlot = slots <= 1
    self.admit = admit
  }

  func arrive(_ entrant: Entrant, mode: GateMode, priority: Int = 0) -> GateMachine<Entrant>.ArriveAction {
    machine.withLock { $0.arrive(entrant, mode: mode, priority: priority) }
  }

  /// All entrants, in order of arrival.
  var entrants: [(id: GateID, entrant: Entrant)] { machine.withLock { $0.entrants } }

  /// Removes waiting entrants from the queue, all at one instant.
  func withdraw(_ ids: some Sequence<GateID>) {
    machine.withLock { machine in
      for id in ids { machine.withdraw(id) }
    }
  }

  func leave(_ id: GateID) {
    for entrant in machine.withLock({ $0.leave(id) }) { admit(entrant) }
  }

  func suspend() { machine.withLock { $0.suspend() } }

  func resume() {
    for entrant in machine.withLock({ $0.resume() }) { admit(entrant) }
  }
}

typealias GateID = UInt64

/// What happens when an entrant arrives and no slot is free.
enum GateMode {
  /// It waits for a slot.
  case queue
  /// It is refused.
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

    var id: GateID {
      switch self {
      case .admit(let id), .wait(let id, _), .refuse(let id): id
      }
    }
  }

  private enum State {
    /// A slot is free, so no entrant waits.
    case open
    case full(Queue)
    /// No entrant is admitted, although a slot may be free.
    case suspended(Queue)
  }

  private let slots: Int
  private var inside: [GateID: Entrant] = [:]
  private var state = State.open
  private var nextID: GateID = 0

  init(slots: Int) {
    self.slots = max(1, slots)
  }

  private var insiders: [Entrant] { Array(inside.values) }
  var entrants: [(id: GateID, entrant: Entrant)] {
    let inside = inside.map { (id: $0, entrant: $1) }
    return (inside + (queue?.entrants ?? [])).sorted { $0.id < $1.id }
  }
  var insideCount: Int { inside.count }
  var waitingCount: Int { queue?.count ?? 0 }
  private var queue: Queue? {
    switch state {
    case .open: nil
    case .full(let queue), .suspended(let queue): queue
    }
  }

  mutating func arrive(_ entrant: Entrant, mode: GateMode, priority: Int = 0) -> ArriveAction {
    let id = nextID
    nextID += 1
    switch exchange(&state, with: .open) {
    case .open:
      inside[id] = entrant
      if inside.count == slots { state = .full(Queue()) }
      return .admit(id)
    case .full(var queue):
      defer { state = .full(queue) }
      return wait(entrant, as: id, in: &queue, mode: mode, priority: priority)
    case .suspended(var queue):
      defer { state = .suspended(queue) }
      return wait(entrant, as: id, in: &queue, mode: mode, priority: priority)
    }
  }

  private func wait(
    _ entrant: Entrant,
    as id: GateID,
    in queue: inout Queue,
    mode: GateMode,
    priority: Int
  ) -> ArriveAction {
    var displaced: [Entrant] = []
    switch mode {
    case .queue: break
    case .refuse: return .refuse(id)
    case .replaceWaiting: displaced = queue.removeAll()
    case .replaceAll: displaced = insiders + queue.removeAll()
    }
    queue.append(entrant, as: id, priority: priority)
    return .wait(id, displaced: displaced)
  }

  /// An entrant leaves, from inside or from the queue; one that has left already has no effect.
  ///
  /// - Returns: The entrants to admit.
  mutating func leave(_ id: GateID) -> [Entrant] {
    guard inside.removeValue(forKey: id) != nil else {
      withdraw(id)
      return []
    }
    guard case .full(let queue) = state else { return [] }
    state = .open
    return admit(from: queue)
  }

  /// Removes a waiting entrant from the queue; does nothing for one that is inside or has left.
  mutating func withdraw(_ id: GateID) {
    switch exchange(&state, with: .open) {
    case .open: break
    case .full(var queue):
      queue.remove(id)
      state = .full(queue)
    case .suspended(var queue):
      queue.remove(id)
      state = .suspended(queue)
    }
  }

  mutating func suspend() {
    switch exchange(&state, with: .open) {
    case .open: state = .suspended(Queue())
    case .full(let queue), .suspended(let queue): state = .suspended(queue)
    }
  }

  /// - Returns: The entrants to admit.
  mutating func resume() -> [Entrant] {
    guard case .suspended(let queue) = state else { return [] }
    state = .open
    return admit(from: queue)
  }

  private mutating func admit(from queue: consuming Queue) -> [Entrant] {
    var queue = queue
    var admitted: [Entrant] = []
    while inside.count < slots {
      guard let next = queue.popFirst() else { return admitted }
      inside[next.id] = next.entrant
      admitted.append(next.entrant)
    }
    state = .full(queue)
    return admitted
  }

  /// The entrants that wait.
  private struct Queue {
    private var order = RankedSlots<GateID>()
    private var waiting: [GateID: (position: RankedSlots<GateID>.Key, entrant: Entrant)] = [:]

    var count: Int { waiting.count }
    var entrants: [(id: GateID, entrant: Entrant)] { waiting.map { (id: $0, entrant: $1.entrant) } }

    mutating func append(_ entrant: Entrant, as id: GateID, priority: Int) {
      waiting[id] = (order.append(id, rank: priority), entrant)
    }

    mutating func remove(_ id: GateID) {
      if let position = waiting.removeValue(forKey: id)?.position { order.remove(position) }
    }

    mutating func popFirst() -> (id: GateID, entrant: Entrant)? {
      guard let id = order.popFirst(), let entrant = waiting.removeValue(forKey: id)?.entrant else { return nil }
      return (id, entrant)
    }

    mutating func removeAll() -> [Entrant] {
      order.removeAll().compactMap { waiting.removeValue(forKey: $0)?.entrant }
    }
  }
}
