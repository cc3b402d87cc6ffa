// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The latest state of each step of a flow's run.
struct FlowRecord {
  enum Key: Hashable, Sendable {
    case started
    case presented(String)
    case over(String)
    case ended
  }

  private enum Phase {
    case presented, answered
    case unanswered(FlowEnding)
  }

  private var phases: [String: Phase] = [:]
  private var order = OrderedSlots<String>()
  private var places: [String: OrderedSlots<String>.Key] = [:]
  private var latest: String?
  private var hasStarted = false
  private var end: ChainState?

  mutating func start() { hasStarted = true }

  mutating func ask(_ step: String) {
    phases[step] = .presented
    if step == latest { return }
    latest = step
    if let place = places[step] { order.remove(place) }
    places[step] = order.append(step)
  }

  mutating func finish(_ step: String, _ end: FlowEnd) {
    switch end {
    case .answered: phases[step] = .answered
    case .ended(let ending): phases[step] = .unanswered(ending)
    }
  }

  mutating func end(_ state: ChainState) { end = state }

  func event(for key: Key) -> FlowEvent? {
    switch key {
    case .started: return .started
    case .presented(let step): return .presented(step: step)
    case .over(let step):
      switch phases[step] {
      case .answered: return .answered(step: step)
      case .unanswered(let ending): return .unanswered(step: step, ending)
      case .presented, nil: return nil
      }
    case .ended: return end.map(FlowEvent.ended)
    }
  }

  /// The events that a new subscriber receives first.
  var owed: [Key] {
    var keys: [Key] = hasStarted ? [.started] : []
    order.forEach { _, step in
      keys.append(.presented(step))
      if case .presented = phases[step] { return }
      keys.append(.over(step))
    }
    if end != nil { keys.append(.ended) }
    return keys
  }
}

/// Stores the latest events of one run of a flow, and delivers them.
final class FlowRecorder: Sendable {
  private let broadcast = Broadcast<FlowRecord, FlowRecord.Key>(FlowRecord())

  func start() {
    broadcast.update { content in
      content.state.start()
      content.publish(.started)
    }
  }

  func ask(_ step: String) {
    broadcast.update { content in
      content.state.ask(step)
      guard content.isObserved else { return }
      content.retract(.over(step))
      content.publish(.presented(step))
    }
  }

  func finish(_ step: String, _ end: FlowEnd) {
    broadcast.update { content in
      content.state.finish(step, end)
      guard content.isObserved else { return }
      content.publish(.over(step))
    }
  }

  func end(_ state: ChainState) {
    broadcast.update { content in
      content.state.end(state)
      content.publish(.ended)
      content.finish()
    }
  }

  func observe() -> Broadcast<FlowRecord, FlowRecord.Key>.Subscription {
    broadcast.subscribe { $0.owed }
  }
}
