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

  /// The latest event of each step.
  private var latest: [String: FlowEvent] = [:]
  private var order = OrderedSlots<String>()
  private var places: [String: OrderedSlots<String>.Key] = [:]
  private var newest: String?
  private var hasStarted = false
  private var end: FlowEvent?

  /// Returns the key of the event.
  mutating func record(_ event: FlowEvent) -> Key {
    switch event {
    case .started:
      hasStarted = true
      return .started
    case .presented(let step):
      latest[step] = event
      if step != newest {
        newest = step
        if let place = places[step] { order.remove(place) }
        places[step] = order.append(step)
      }
      return .presented(step)
    case .answered(let step), .unanswered(let step, _):
      latest[step] = event
      return .over(step)
    case .ended:
      end = event
      return .ended
    }
  }

  func event(for key: Key) -> FlowEvent? {
    switch key {
    case .started: .started
    case .presented(let step): .presented(step: step)
    case .over(let step): isOver(step) ? latest[step] : nil
    case .ended: end
    }
  }

  /// The events that a new subscriber receives first.
  var owed: [Key] {
    var keys: [Key] = hasStarted ? [.started] : []
    order.forEach { _, step in
      keys.append(.presented(step))
      if isOver(step) { keys.append(.over(step)) }
    }
    if end != nil { keys.append(.ended) }
    return keys
  }

  private func isOver(_ step: String) -> Bool {
    if case .presented = latest[step] { false } else { true }
  }
}

/// Stores the latest events of one run of a flow, and delivers them.
final class FlowRecorder: Sendable {
  private let broadcast = Broadcast<FlowRecord, FlowRecord.Key>(FlowRecord())

  func record(_ event: FlowEvent) {
    broadcast.update { content in
      let key = content.state.record(event)
      content.publish(key)
      if key == .ended { content.finish() }
    }
  }

  func observe() -> Broadcast<FlowRecord, FlowRecord.Key>.Subscription {
    broadcast.subscribe { $0.owed }
  }
}
