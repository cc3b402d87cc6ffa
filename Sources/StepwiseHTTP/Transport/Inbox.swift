// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

package import Foundation
import Stepwise

/// The received parts of a response: the network adds them, one consumer waits for them.
package final class Inbox: Sendable {
  private typealias Waiter = UnsafeContinuation<InboxMachine.Part, any Error>

  private struct State {
    var machine: InboxMachine
    var waiter: Waiter?

    /// Matches the next part with the waiting consumer.
    mutating func match() -> (Waiter, InboxMachine.Delivery)? {
      guard let waiter, let delivery = machine.take() else { return nil }
      self.waiter = nil
      return (waiter, delivery)
    }
  }

  private let state: Lock<State>

  /// Creates an inbox.
  ///
  /// - Parameter capacity: The number of bytes from which the network has to wait.
  package init(capacity: Int) { state = Lock(State(machine: InboxMachine(capacity: capacity))) }

  package var isEnded: Bool { state.withLock { $0.machine.isEnded } }

  /// Whether the network has to wait.
  var isHeld: Bool { state.withLock { $0.machine.isHeld } }

  /// Changes the contents, and resumes the consumer if the part that it waits for has arrived.
  @discardableResult
  package func update<Result>(_ change: (inout sending InboxMachine) -> sending Result) -> sending Result {
    let result = updateWithoutWaking(change)
    wake()
    return result
  }

  /// Changes the contents without waking the consumer; ``wake()`` has to follow.
  func updateWithoutWaking<Result>(_ change: (inout sending InboxMachine) -> sending Result) -> sending Result {
    state.withLock { state in change(&state.machine) }
  }

  /// Resumes the consumer if the part that it waits for has arrived; returns whether the network may continue.
  @discardableResult
  func wake() -> Bool {
    guard let (waiter, delivery) = state.withLock({ $0.match() }) else { return false }
    waiter.resume(with: delivery.part)
    return delivery.releasesNetwork
  }

  /// Waits for the head.
  package func head() async throws -> HTTPResponseHead {
    guard case .head(let head) = try await next(release: {}) else { throw HTTPError.noAnswer }
    return head
  }

  /// Waits for the next piece of the body; nil at its end.
  ///
  /// Calls `release` when the network was waiting and may continue.
  package func chunk(release: () -> Void) async throws -> Data? {
    guard case .chunk(let data) = try await next(release: release) else { return nil }
    return data
  }

  private func next(release: () -> Void) async throws -> InboxMachine.Part {
    if let delivery = state.withLock({ $0.machine.take() }) {
      if delivery.releasesNetwork { release() }
      return try delivery.part.get()
    }
    #if TSAN
      // ThreadSanitizer does not see the hand-over by a continuation that is resumed before its task suspends.
      defer { state.withLock { _ in } }
    #endif
    return try await withUnsafeThrowingContinuation { (continuation: Waiter) in
      state.withLock { $0.waiter = continuation }
      if wake() { release() }
    }
  }
}

/// The parts of a response that have arrived and were not consumed yet, as a value.
///
/// After an end nothing more arrives. Bytes that arrived before a failure are delivered before it; after a cancellation
/// nothing is delivered.
package struct InboxMachine {
  enum Part {
    case head(HTTPResponseHead)
    /// A piece of the body; nil for its end.
    case chunk(Data?)
  }

  /// What the consumer receives, and whether the network may continue.
  typealias Delivery = (part: Result<Part, any Error>, releasesNetwork: Bool)

  /// The number of bytes from which the network has to wait.
  private let capacity: Int
  private var head: HTTPResponseHead?
  private var hasHead = false
  private var bytes = Data()
  private var end: Result<Void, any Error>?
  /// Whether the network has to wait.
  private(set) var isHeld = false

  package init(capacity: Int) { self.capacity = capacity }

  package var isEnded: Bool { end != nil }

  package mutating func receive(_ head: HTTPResponseHead) {
    if end == nil, !hasHead { (self.head, hasHead) = (head, true) }
  }

  /// Adds the bytes, unless there are too many already; returns whether it did.
  ///
  /// Bytes after the end are accepted and dropped.
  mutating func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard end == nil, hasHead else { return true }
    guard self.bytes.isEmpty || self.bytes.count + bytes.count <= capacity else {
      isHeld = true
      return false
    }
    self.bytes.append(contentsOf: bytes)
    return true
  }

  /// Adds the bytes, however many there are.
  package mutating func receive(_ bytes: Data) {
    guard end == nil, hasHead else { return }
    self.bytes.append(bytes)
    isHeld = isHeld || self.bytes.count >= capacity
  }

  package mutating func complete(_ failure: (any Error)?) {
    guard end == nil else { return }
    end = (failure ?? (hasHead ? nil : HTTPError.noAnswer)).map { .failure($0) } ?? .success(())
  }

  /// Returns whether there was anything left to cancel.
  package mutating func cancel() -> Bool {
    let wasOpen = end == nil
    if case .success = end, bytes.isEmpty { return false }
    (end, head, bytes) = (.failure(CancellationError()), nil, Data())
    return wasOpen
  }

  /// Removes the head, or else the bytes, and returns the end after them; nil when the consumer has to wait.
  mutating func take() -> Delivery? {
    if let head = head.take() { return (.success(.head(head)), false) }
    guard bytes.isEmpty else {
      let isReleased = exchange(&isHeld, with: false) && end == nil
      return (.success(.chunk(exchange(&bytes, with: Data()))), isReleased)
    }
    return end.map { end in (end.map { .chunk(nil) }, false) }
  }
}
