// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Notifies any number of subscribers of changes, without a queue.
///
/// Each thing that can change has a key. A slow subscriber has at most one pending notification for each key, at the
/// position of its newest change, and reads the state at that time. It therefore sees the true sequence of changes
/// without the superseded ones, and memory is bounded by the number of keys. The end is delivered last and is never
/// lost.
package final class Broadcast<State, Key: Hashable & Sendable>: Sendable {
  package struct Content {
    package var state: State
    fileprivate var consumers: [ObjectIdentifier: Pending] = [:]
    fileprivate var isFinished = false
    /// What subscribers without a notification wait for.
    fileprivate var waiter: Once<Void>?
    /// Settled after the change.
    fileprivate var woken: Once<Void>?

    /// Whether there are subscribers; otherwise no key need be created.
    package var isObserved: Bool { !consumers.isEmpty }

    /// Notifies all subscribers that a key has changed; nothing follows the end.
    package mutating func publish(_ key: Key) {
      guard !isFinished else { return }
      forEachConsumer { $0.enqueue(key) }
      wake()
    }

    /// Removes the pending notifications of a key, because a newer one replaces them.
    package mutating func retract(_ key: Key) {
      guard !isFinished else { return }
      forEachConsumer { $0.forget(key) }
    }

    package mutating func finish() {
      isFinished = true
      wake()
    }

    private mutating func wake() { if let waiter = waiter.take() { woken = waiter } }

    /// Mutates the subscribers in place.
    ///
    /// A loop that retained the dictionary would copy all pending notifications with each change.
    private mutating func forEachConsumer(_ body: (inout Pending) -> Void) {
      var index = consumers.startIndex
      while index != consumers.endIndex {
        body(&consumers.values[index])
        consumers.formIndex(after: &index)
      }
    }
  }

  fileprivate struct Pending {
    var order = OrderedSlots<Key>()
    var positions: [Key: OrderedSlots<Key>.Key] = [:]

    mutating func enqueue(_ key: Key) {
      forget(key)
      positions[key] = order.append(key)
    }

    mutating func forget(_ key: Key) {
      if let position = positions.removeValue(forKey: key) { order.remove(position) }
    }

    mutating func next() -> Key? {
      guard let key = order.popFirst() else { return nil }
      positions[key] = nil
      return key
    }
  }

  private let content: Lock<Content>

  package init(_ state: sending State, isFinished: Bool = false) {
    content = Lock(Content(state: state, isFinished: isFinished))
  }

  /// Changes the state and notifies subscribers.
  @discardableResult
  package func update<Result>(_ change: (inout Content) -> sending Result) -> sending Result {
    let (result, woken) = content.withLock { content in
      (change(&content), content.woken.take())
    }
    woken?.settle(())
    return result
  }

  /// One subscriber; releasing it ends the subscription.
  package final class Subscription: Sendable {
    private let broadcast: Broadcast

    fileprivate init(_ broadcast: Broadcast) { self.broadcast = broadcast }

    deinit {
      broadcast.update { $0.consumers[ObjectIdentifier(self)] = nil }
    }

    /// Waits for the next change and reads it; returns nil at the end, or when the waiting task is cancelled.
    package func next<Element>(
      _ read: (borrowing State, Key) -> sending Element?
    ) async -> sending Element? {
      while true {
        let pull = broadcast.content.withLock { content -> sending Pull<Element> in
          if let key = content.consumers[ObjectIdentifier(self)]?.next() { return .read(read(content.state, key)) }
          if content.isFinished { return .finished }
          return .wait(content.waiter.stored(or: Once()))
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

  /// Adds a subscriber, with initial notifications.
  package func subscribe(initial: (borrowing State) -> [Key]) -> Subscription {
    let subscription = Subscription(self)
    update { content in
      var pending = Pending()
      for key in initial(content.state) { pending.enqueue(key) }
      content.consumers[ObjectIdentifier(subscription)] = pending
    }
    return subscription
  }

  /// What any number of iterators read, each with its own subscription.
  struct Reader<Element: Sendable>: AsyncSequence, Sendable {
    typealias Failure = Never
    /// What is retained as long as there is a reader.
    let owner: any AnyObject & Sendable
    let subscribe: @Sendable () -> Subscription?
    let read: @Sendable (borrowing State, Key) -> Element?

    func makeAsyncIterator() -> Iterator { Iterator(reader: self, subscription: subscribe()) }

    struct Iterator: AsyncIteratorProtocol {
      let reader: Reader
      let subscription: Subscription?

      mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
        await subscription?.next { reader.read($0, $1) }
      }
    }
  }
}

private enum Pull<Element> {
  case read(Element?)
  case finished
  case wait(Once<Void>)
}
