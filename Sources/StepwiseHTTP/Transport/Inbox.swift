// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

package import Foundation
import Stepwise

/// The received parts of a response: the network adds them, one consumer waits for them.
package final class Inbox: Sendable {
  private typealias Waiter = UnsafeContinuation<InboxMachine.Delivery, Never>

  private struct State {
    var machine: InboxMachine
    var waiter: (wish: InboxMachine.Wish, continuation: Waiter)?

    /// Matches the received parts with the waiting consumer.
    mutating func match() -> (Waiter, InboxMachine.Delivery, releasesNetwork: Bool)? {
      guard let (wish, continuation) = waiter, let (delivery, releases) = machine.take(wish) else { return nil }
      waiter = nil
      return (continuation, delivery, releases)
    }
  }

  private let state: Lock<State>

  /// Creates an inbox.
  ///
  /// - Parameter capacity: The number of bytes from which the network has to wait.
  package init(capacity: Int) { state = Lock(State(machine: InboxMachine(capacity: capacity))) }

  package var isEnded: Bool { state.withLock { $0.machine.isEnded } }

  /// Whether the network has to wait.
  package var isHeld: Bool { state.withLock { $0.machine.isHeld } }

  /// Changes the contents without waking the consumer; ``wake()`` has to follow.
  package func update<Result>(_ change: (inout sending InboxMachine) -> sending Result) -> sending Result {
    state.withLock { state in change(&state.machine) }
  }

  /// Resumes the consumer if what it waits for has arrived; returns whether the network may continue.
  @discardableResult
  package func wake() -> Bool {
    guard let (waiter, delivery, releasesNetwork) = state.withLock({ $0.match() }) else { return false }
    waiter.resume(returning: delivery)
    return releasesNetwork
  }

  /// Waits for the part that the consumer wants.
  ///
  /// - Parameters:
  ///   - wish: The head or the next piece.
  ///   - release: Called when the network was waiting and may continue.
  /// - Returns: The part that has arrived.
  func take(
    _ wish: InboxMachine.Wish,
    release: () -> Void
  ) async -> InboxMachine.Delivery {
    if let (delivery, releases) = state.withLock({ $0.machine.take(wish) }) {
      if releases { release() }
      return delivery
    }
    let delivery = await withUnsafeContinuation { (continuation: Waiter) in
      state.withLock { $0.waiter = (wish, continuation) }
      if wake() { release() }
    }
    #if TSAN
      // ThreadSanitizer does not see the hand-over by a continuation that is resumed before its task suspends.
      state.withLock { _ in }
    #endif
    return delivery
  }
}

extension Inbox {
  package func head() async throws -> HTTPResponseHead {
    switch await take(.head, release: {}) {
    case .head(let head): return head
    case .failure(let error): throw error
    case .chunk, .end: throw TransferFailure.noAnswer
    }
  }

  package func chunk(release: () -> Void) async throws -> Data? {
    switch await take(.chunk, release: release) {
    case .chunk(let data): return data
    case .failure(let error): throw error
    case .head, .end: return nil
    }
  }
}

/// The parts of a response that have arrived and were not consumed yet, as a value.
///
/// After an end nothing more arrives. Bytes that arrived before a failure are delivered before it; after a cancellation
/// nothing is delivered.
package struct InboxMachine {
  package enum Wish: Equatable {
    case head
    case chunk
  }

  package enum Delivery {
    case head(HTTPResponseHead)
    case chunk(Data)
    case end
    case failure(any Error)
  }

  /// The number of bytes from which the network has to wait.
  private let capacity: Int
  private var head: HTTPResponseHead?
  private var bytes = Data()
  private var end: Result<Void, any Error>?
  /// Whether the network has to wait.
  private(set) var isHeld = false

  package init(capacity: Int) { self.capacity = capacity }

  package var isEnded: Bool { end != nil }

  package mutating func receive(_ head: HTTPResponseHead) {
    if end == nil, self.head == nil { self.head = head }
  }

  /// Adds the bytes, unless there are too many already; returns whether it did.
  ///
  /// Bytes after the end are accepted and dropped.
  mutating func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard end == nil, head != nil else { return true }
    guard self.bytes.isEmpty || self.bytes.count + bytes.count <= capacity else {
      isHeld = true
      return false
    }
    self.bytes.append(contentsOf: bytes)
    return true
  }

  /// Adds the bytes, however many there are; returns whether the network should wait.
  package mutating func receive(_ bytes: Data) -> Bool {
    guard end == nil, head != nil else { return false }
    self.bytes.append(bytes)
    isHeld = isHeld || self.bytes.count >= capacity
    return isHeld
  }

  package mutating func complete(_ failure: (any Error)?) {
    guard end == nil else { return }
    end = (failure ?? (head == nil ? TransferFailure.noAnswer : nil)).map { .failure($0) } ?? .success(())
  }

  /// Returns whether there was anything left to cancel.
  package mutating func cancel() -> Bool {
    let wasOpen = end == nil
    if case .success = end, bytes.isEmpty { return false }
    (end, head, bytes) = (.failure(CancellationError()), nil, Data())
    return wasOpen
  }

  /// Returns what the consumer receives, and whether the network may continue; nil when the consumer has to wait.
  mutating func take(_ wish: Wish) -> (delivery: Delivery, releasesNetwork: Bool)? {
    if wish == .head, let head { return (.head(head), false) }
    if wish == .chunk, !bytes.isEmpty {
      let released = isHeld && end == nil
      isHeld = false
      return (.chunk(exchange(&bytes, with: Data())), released)
    }
    switch end {
    case .success: return (.end, false)
    case .failure(let error): return (.failure(error), false)
    case nil: return nil
    }
  }
}
