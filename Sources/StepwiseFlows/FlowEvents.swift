// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// What happens in a flow that you iterate with ``Flow/events``.
///
/// Use it to log what your users do, or to show where they are.
public enum FlowEvent: Sendable {
  /// The run has started.
  case started
  /// A step is being presented.
  case presented(step: String)
  /// A step has a result.
  case answered(step: String)
  /// A step has ended without a result; or, before its end and with ``FlowError/overdue``, its navigator has not returned
  /// from dismissing its screen within the limit.
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

/// The latest events of one run of a flow; each iterator is an independent subscription.
struct FlowEvents: AsyncSequence, Sendable {
  /// What a newer event replaces: that of the same step.
  enum Key: Hashable, Sendable {
    case started
    case presented(String)
    case over(String)
    case overdue(String)
    case ended
  }

  /// In the order of the events.
  typealias Latest = [(key: Key, event: FlowEvent)]

  private let broadcast = Broadcast<Latest, Key>([])

  func record(_ event: FlowEvent) {
    let key: Key =
      switch event {
      case .started: .started
      case .presented(let step): .presented(step)
      case .unanswered(let step, .failed(FlowError.overdue)): .overdue(step)
      case .answered(let step), .unanswered(let step, _): .over(step)
      case .ended: .ended
      }
    let replaced = if case .presented(let step) = key { [key, .over(step)] } else { [key] }
    // Returns what the event replaces, to release it outside the lock.
    _ = broadcast.update { content -> [FlowEvent] in
      let old = content.state.filter { replaced.contains($0.key) }.map(\.event)
      content.state.removeAll { replaced.contains($0.key) }
      content.state.append((key, event))
      content.publish(key)
      if key == .ended { content.finish() }
      return old
    }
  }

  func makeAsyncIterator() -> Iterator {
    Iterator(subscription: broadcast.subscribe { $0.map(\.key) })
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: Broadcast<Latest, Key>.Subscription

    mutating func next(isolation actor: isolated (any Actor)?) async -> FlowEvent? {
      await subscription.next { latest, key in latest.first { $0.key == key }?.event }
    }
  }
}
