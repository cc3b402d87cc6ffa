// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Tells any number of consumers what has changed, and keeps no queue.
///
/// What can change has keys. A consumer that falls behind is owed each key once, at the place of its newest change, and
/// reads the state as it is then: so what it sees is the true sequence of changes with the superseded ones left out, and
/// memory is bounded by the number of keys. The end is told last and is never lost.
package final class Broadcast<State, Key: Hashable & Sendable>: Sendable {
  package struct Content {
    package var state: State
    fileprivate var consumers: [ObjectIdentifier: Pending] = [:]
    fileprivate var isFinished = false
    fileprivate var woken: [Once<Void>] = []

    /// Whether anybody is told of changes, so that keys need not be made for nobody.
    package var isObserved: Bool { !consumers.isEmpty }

    /// Tells everybody that a key has changed; nothing follows the end.
    package mutating func publish(_ key: Key) {
      guard !isFinished else { return }
      forEachConsumer { consumer, woken in
        guard consumer.owe(key), let waiting = consumer.waiting.take() else { return }
        woken.append(waiting)
      }
    }

    /// Takes back what nobody has been told yet, because something newer stands in its place.
    package mutating func retract(_ key: Key) {
      guard !isFinished else { return }
      forEachConsumer { consumer, _ in consumer.forget(key) }
    }

    package mutating func finish() {
      isFinished = true
      forEachConsumer { consumer, woken in
        if let waiting = consumer.waiting.take() { woken.append(waiting) }
      }
    }

    /// Changes the consumers where they are: while a loop over the keys holds the dictionary, each change would copy
    /// all that everybody is owed.
    private mutating func forEachConsumer(_ body: (inout Pending, inout [Once<Void>]) -> Void) {
      var index = consumers.startIndex
      while index != consumers.endIndex {
        body(&consumers.values[index], &woken)
        consumers.formIndex(after: &index)
      }
    }
  }

  fileprivate struct Pending {
    var order = OrderedSlots<Key>()
    var places: [Key: OrderedSlots<Key>.Key] = [:]
    var waiting: Once<Void>?
    let isInterested: @Sendable (Key) -> Bool

    /// Returns whether the consumer wants to know.
    mutating func owe(_ key: Key) -> Bool {
      guard isInterested(key) else { return false }
      forget(key)
      places[key] = order.append(key)
      return true
    }

    mutating func forget(_ key: Key) {
      if let place = places.removeValue(forKey: key) { order.remove(place) }
    }

    mutating func next() -> Key? {
      guard let key = order.popFirst() else { return nil }
      places[key] = nil
      return key
    }
  }

  private let content: Lock<Content>

  package init(_ state: sending State) {
    content = Lock(Content(state: state))
  }

  /// Changes the state and tells of it.
  @discardableResult
  package func update<Result>(_ change: (inout Content) -> sending Result) -> sending Result {
    let (result, woken) = content.withLock { content in
      let result = change(&content)
      return (result, content.woken.isEmpty ? [] : exchange(&content.woken, with: []))
    }
    for consumer in woken { consumer.settle(()) }
    return result
  }

  /// One consumer; it is told of nothing further once it is let go of.
  package final class Subscription: Sendable {
    private let broadcast: Broadcast

    fileprivate init(_ broadcast: Broadcast) {
      self.broadcast = broadcast
    }

    deinit {
      broadcast.update { $0.consumers[ObjectIdentifier(self)] = nil }
    }

    /// Waits for the next change and reads it; nil at the end, or when the waiting Task is cancelled.
    package nonisolated(nonsending) func next<Element>(
      _ read: (borrowing State, Key) -> sending Element?
    ) async -> sending Element? {
      while true {
        let pull = broadcast.content.withLock { content -> sending Pull<Element> in
          let id = ObjectIdentifier(self)
          if let key = content.consumers[id]?.next() { return .read(read(content.state, key)) }
          if content.isFinished { return .finished }
          let wait = Once<Void>()
          content.consumers[id]?.waiting = wait
          return .wait(wait)
        }
        switch pull {
        case .read(let element?): return element
        case .read(nil): continue
        case .finished: return nil
        case .wait(let wait): if await wait.value() == nil { return nil }
        }
      }
    }
  }

  /// Adds a consumer of some of the keys, that is owed some to begin with.
  package func subscribe(
    to isInterested: @escaping @Sendable (Key) -> Bool = { _ in true },
    owed: (borrowing State) -> [Key]
  ) -> Subscription {
    let subscription = Subscription(self)
    update { content in
      var pending = Pending(isInterested: isInterested)
      for key in owed(content.state) { _ = pending.owe(key) }
      content.consumers[ObjectIdentifier(subscription)] = pending
    }
    return subscription
  }
}

private enum Pull<Element> {
  case read(Element?)
  case finished
  case wait(Once<Void>)
}
