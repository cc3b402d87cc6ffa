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
  private struct State: Sendable {
    var pending = OrderedSlots<Sent<P>>()
    var activeCount = 0
    var isSuspended = false
  }

  private let state = Lock(State())
  private let limit: Int
  private let performer: Performer
  /// Starts progressions in separate turns: one that completes at once does not nest the next one.
  private let queue = DispatchQueue(label: "ProductionLine")

  private init(maxCount: Int, by performer: Performer) {
    limit = max(1, maxCount)
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
    update { state in for progression in progressions { state.pending.append(progression) } }
  }

  /// Removes the progressions that have not started.
  @available(*, deprecated, message: "Use clearPending() of ProductionLine of Stepwise, which returns them")
  public func clearPending() {
    _ = state.withLock { $0.pending.removeAll() }
  }

  /// Starts no further progression until `resume()`; those that run continue.
  @available(*, deprecated, message: "Use suspend() of ProductionLine of Stepwise")
  public func suspend() { state.withLock { $0.isSuspended = true } }

  /// Starts progressions again after `suspend()`.
  @available(*, deprecated, message: "Use resume() of ProductionLine of Stepwise")
  public func resume() { update { $0.isSuspended = false } }

  /// Changes the state, and starts the progressions for which there is room then.
  private func update(_ change: (inout State) -> Void) {
    let progressions = state.withLock { state in
      change(&state)
      var next: [Sent<P>] = []
      while !state.isSuspended, state.activeCount < limit, let progression = state.pending.popFirst() {
        state.activeCount += 1
        next.append(progression)
      }
      return next
    }
    guard !progressions.isEmpty else { return }
    let performer = performer
    queue.async {
      for progression in progressions {
        progression.value.deferred(performer, progress: nil).pass { _ in self.update { $0.activeCount -= 1 } }
      }
    }
  }
}
