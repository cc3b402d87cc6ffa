// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport
internal import Stepwise

/// Runs progressions in the order in which they are added, with a concurrency limit.
///
/// Runs all that was added, also when the line is released meanwhile.
@available(*, deprecated, message: "Use ProductionLine(maxConcurrent:) of Stepwise, which yields the results")
public final class ProductionLine<P: Progression>: Sendable {
  private let machine: Lock<LineMachine<Sent<P>>>
  private let performer: Performer
  /// Starts progressions in turns of its own, so that one that completes at once does not nest the next one.
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
    let removed = machine.withLock { $0.clearPending() }
    withExtendedLifetime(removed) {}
  }

  /// Starts no further progression until `resume()`; those that run continue.
  @available(*, deprecated, message: "Use suspend() of ProductionLine of Stepwise")
  public func suspend() { machine.withLock { $0.suspend() } }

  /// Starts progressions again after `suspend()`.
  @available(*, deprecated, message: "Use resume() of ProductionLine of Stepwise")
  public func resume() { start(machine.withLock { $0.resume() }) }

  private func start(_ progressions: ArraySlice<Sent<P>>) {
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
