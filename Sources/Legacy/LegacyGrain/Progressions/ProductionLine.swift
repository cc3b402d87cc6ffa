// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import Stepwise

/// Runs progressions as they are added, so many at a time.
@available(*, deprecated, message: "Use ProductionLine(maxConcurrent:) of Stepwise, which hands out the results")
public final class ProductionLine<P: Progression>: Sendable {
  private let line: Stepwise.ProductionLine<Stage<P>>
  private let performer: Performer

  private init(maxCount: Int, by performer: Performer) {
    line = Stepwise.ProductionLine(maxConcurrent: maxCount)
    self.performer = performer
    let results = line.results
    // Nobody can ask for them, and what waits to be taken would hold up the line.
    Chain { for await _ in results {} }.start()
  }

  /// Creates a line to which nothing was added.
  ///
  /// - Parameters:
  ///   - maxCount: How many progressions run at once.
  ///   - performer: Where stages do their work.
  @available(*, deprecated, message: "Use ProductionLine(maxConcurrent:) of Stepwise")
  @preconcurrency
  public convenience init(maxCount: Int, performer: sending @escaping AsyncPerformer) {
    self.init(maxCount: maxCount, by: Performer(performer))
  }

  /// Creates a line to which nothing was added.
  ///
  /// - Parameters:
  ///   - maxCount: How many progressions run at once.
  ///   - performer: The queue that stages are dispatched to.
  @available(*, deprecated, message: "Use ProductionLine(maxConcurrent:) of Stepwise")
  public convenience init(maxCount: Int, performer: DispatchQueue = .global(qos: .utility)) {
    self.init(maxCount: maxCount, by: Performer(performer))
  }

  /// Adds a progression, which begins at once or when there is room.
  @available(*, deprecated, message: "Use add(_:) of ProductionLine of Stepwise")
  public func add(_ progression: P) { line.add(Stage(progression, performer: performer)) }

  /// Adds progressions, in order.
  @available(*, deprecated, message: "Use add(_:) of ProductionLine of Stepwise for each")
  public func add(_ progressions: [P]) { for progression in progressions { add(progression) } }

  /// Drops the progressions that have not begun.
  @available(*, deprecated, message: "Use clearPending() of ProductionLine of Stepwise, which returns them")
  public func clearPending() { line.clearPending() }

  /// Begins nothing further until `resume()`; what runs goes on.
  @available(*, deprecated, message: "Use suspend() of ProductionLine of Stepwise")
  public func suspend() { line.suspend() }

  /// Goes on after `suspend()`.
  @available(*, deprecated, message: "Use resume() of ProductionLine of Stepwise")
  public func resume() { line.resume() }
}
