// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport
internal import Stepwise

/// Runs progressions in the order in which they are added, with a concurrency limit.
///
/// Runs all that was added, even after the line is released.
@available(*, deprecated, message: "Use ProductionLine(maxConcurrent:) of Stepwise, which yields the results")
public final class ProductionLine<P: Progression>: Sendable {
  private let machine: Lock<LineMachine<Sent<P>>>
  private let performer: Performer
  /// Starts progressions in separate turns: one that completes at once does not nest the next one.
  private let queue = DispatchQueue(label: "ProductionLine")

  private init(maxCount: Int, by performer: Performer) {
    machine = Lock(LineMachine(limit: maxCount))
    self.performer = performer
  }

  /// Creates a line without progressions.
  ///
  /// - Parameters:
  ///   - maxCount: The concurrency limit.
  ///   - performer: Where stages run.
  @available(*, deprecated, message: "Use ProductionLine(maxConcurrent:) of Stepwise")
  @preconcurrency
  public convenience init(maxCount: Int, performer: sending @escaping AsyncPerformer) {
    self.init(maxCount: maxCount, by: Performer(performer))
  }

  /// Creates a line without progressions.
  ///
  /// - Parameters:
  ///   - maxCount: The concurrency limit.
  ///   - performer: The queue of the stages.
  @available(*, deprecated, message: "Use ProductionLine(maxConcurrent:) of Stepwise")
  public convenience init(maxCount: Int, performer: DispatchQueue = .global(qos: .utility)) {
    self.init(maxCount: maxCount, by: Performer(performer))
  }

  /// Adds a progression, which starts when fewer than the limit run.
  @available(*, deprecated, message: "Use add(_:) of ProductionLine of Stepwise")
  public func add(_ progression: P) { add([progression]) }

  /// Adds progressions, in order.
  @available(*, deprecated, message: "Use add(_:) of ProductionLine of Stepwise for each")
  public func add(_ progressions: [P]) {
    let progressions = progressions.map(Sent.init)
    start(machine.withLock { $0.add(progressions) })
  }

  /// Removes the progressions that have not started.
  @available(*, deprecated, message: "Use clearPending() of ProductionLine of Stepwise, which returns them")
  public func clearPending() {
    _ = machine.withLock { $0.clearPending() }
  }

  /// Starts no further progression until `resume()`; those that run continue.
  @available(*, deprecated, message: "Use suspend() of ProductionLine of Stepwise")
  public func suspend() { machine.withLock { $0.suspend() } }

  /// Starts progressions again after `suspend()`.
  @available(*, deprecated, message: "Use resume() of ProductionLine of Stepwise")
  public func resume() { start(machine.withLock { $0.resume() }) }

  private func start(_ progressions: [Sent<P>]) {
    guard !progressions.isEmpty else { return }
    let performer = performer
    queue.async {
      for progression in progressions {
        progression.value.deferred(performer, progress: nil).pass { _ in
          self.start(self.machine.withLock { $0.complete() })
        }
      }
    }
  }
}

/// Decides which progressions of a production line start.
struct LineMachine<Element> {
  private let limit: Int
  private var activeCount = 0
  private var pending = OrderedSlots<Element>()
  private var isSuspended = false

  init(limit: Int) {
    self.limit = max(1, limit)
  }

  /// Returns the elements that start now.
  mutating func add(_ elements: [Element]) -> [Element] {
    for element in elements { _ = pending.append(element) }
    return take()
  }

  /// One has completed.
  mutating func complete() -> [Element] {
    activeCount -= 1
    return take()
  }

  mutating func suspend() { isSuspended = true }

  mutating func resume() -> [Element] {
    isSuspended = false
    return take()
  }

  /// Returns the elements that will not start.
  mutating func clearPending() -> [Element] {
    pending.removeAll()
  }

  private mutating func take() -> [Element] {
    var next: [Element] = []
    while !isSuspended, activeCount < limit, let element = pending.popFirst() {
      activeCount += 1
      next.append(element)
    }
    return next
  }
}
