// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// What happens in a flow that you iterate with ``Flow/events``.
public enum FlowEvent: Sendable {
  /// The run has started.
  case started

  /// A step is being presented.
  case presented(step: String)

  /// A step has a result.
  case answered(step: String)

  /// A step has ended without a result.
  case unanswered(step: String, FlowEnding)

  /// The run has ended; no event follows.
  case ended(ChainState)

  init(_ end: FlowEnd, of step: String) {
    switch end {
    case .answered: self = .answered(step: step)
    case .ended(let ending): self = .unanswered(step: step, ending)
    }
  }
}

extension FlowEvent: CustomStringConvertible, CustomDebugStringConvertible {
  /// What happened, in words; names the type of a result and never contains it.
  public var description: String { words(\.description) }

  /// What happened, with the result.
  public var debugDescription: String { words(\.debugDescription) }

  private func words(_ text: (ChainState) -> String) -> String {
    switch self {
    case .started: "started"
    case .presented(let step): "\(step) presented"
    case .answered(let step): "\(step) answered"
    case .unanswered(let step, let ending): "\(step) ended without a result: \(ending)"
    case .ended(let state): text(state)
    }
  }
}

/// The events of a run of a flow; each iterator is an independent subscription.
struct FlowEvents: AsyncSequence, Sendable {
  let recorder: FlowRecorder

  func makeAsyncIterator() -> Iterator { Iterator(subscription: recorder.observe()) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: Broadcast<FlowRecord, FlowRecord.Key>.Subscription

    mutating func next() async -> FlowEvent? { await next(isolation: nil) }

    mutating func next(isolation actor: isolated (any Actor)?) async -> FlowEvent? {
      await subscription.next { $0.event(for: $1) }
    }
  }
}

/// Stores the latest events of one run of a flow, and delivers them.
final class FlowRecorder: Sendable {
  private let broadcast = Broadcast<FlowRecord, FlowRecord.Key>(FlowRecord())

  func record(_ event: FlowEvent) {
    // Returns what the event replaces, to release it outside the lock.
    _ = broadcast.update { content -> FlowEvent? in
      let (key, replaced) = content.state.record(event)
      content.publish(key)
      if key == .ended { content.finish() }
      return replaced
    }
  }

  func observe() -> Broadcast<FlowRecord, FlowRecord.Key>.Subscription { broadcast.subscribe { $0.owed } }
}

/// The latest state of each step of a flow's run.
struct FlowRecord {
  enum Key: Hashable, Sendable {
    case started
    case presented(String)
    case over(String)
    case ended
  }

  /// The latest events, and their order.
  private var latest: [Key: (event: FlowEvent, number: Int)] = [:]
  private var count = 0

  /// Returns the key of the event, and the event that it replaces.
  mutating func record(_ event: FlowEvent) -> (key: Key, replaced: FlowEvent?) {
    let key: Key
    var ending: FlowEvent?
    switch event {
    case .started: key = .started
    case .presented(let step):
      key = .presented(step)
      ending = latest.removeValue(forKey: .over(step))?.event
    case .answered(let step), .unanswered(let step, _): key = .over(step)
    case .ended: key = .ended
    }
    count += 1
    let replaced = latest.updateValue((event, count), forKey: key)?.event
    return (key, ending ?? replaced)
  }

  func event(for key: Key) -> FlowEvent? { latest[key]?.event }

  /// The events that a new subscriber receives first.
  var owed: [Key] { latest.sorted { $0.value.number < $1.value.number }.map(\.key) }
}
