// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The object to which a chain reports in ``cancelEverywhere(input:fileID:filePath:line:column:_:)`` and
/// ``failEverywhere(input:fileID:filePath:line:column:_:)``.
///
/// Call its methods in the steps, undos and handlers of the chain under test. You can call each from any thread.
public final class RunProbe: Sendable {
  enum Mark: Sendable, Hashable {
    case completed(String)
    case undone(String)
    case finalized(String)
    /// The steps of the whole chain have completed; only its own handlers follow.
    case ended
  }

  private struct State: Sendable {
    var marks: [Mark] = []
    var steps: [String] = []
  }

  /// The virtual clock of the run.
  public let clock: ManualClock
  private let state = Lock(State())
  private let tracker = LifetimeTracker()
  private let failingStep: Int?

  init(clock: ManualClock, failingStep: Int? = nil) {
    self.clock = clock
    self.failingStep = failingStep
  }

  /// Marks a place where `failEverywhere` throws an error in one of its runs, such as the start of a step.
  ///
  /// - Parameter name: The name of the place in reports.
  /// - Throws: ``InjectedFailure`` in the run that tests this place, and nothing in any other.
  public func step(_ name: String) throws {
    let index = state.withLock { state in
      state.steps.append(name)
      return state.steps.count - 1
    }
    if index == failingStep { throw InjectedFailure(step: name) }
  }

  /// Marks that a step with an undo completed; call it last in the step.
  public func completed(_ name: String) {
    state.withLock { $0.marks.append(.completed(name)) }
  }

  /// Marks that a step was undone; call it first in the undo.
  public func undone(_ name: String) {
    state.withLock { $0.marks.append(.undone(name)) }
  }

  /// Marks that a `finally` handler ran; call it first in the handler of the chain under test, or of a chain in it.
  public func finalized(_ name: String) {
    state.withLock { $0.marks.append(.finalized(name)) }
  }

  /// Creates an object that must be released when the run has completed; capture it where a leak is possible.
  ///
  /// - Returns: The object.
  public func track() -> LifetimeTracker.Tracked {
    tracker.track()
  }

  func ended() {
    state.withLock { $0.marks.append(.ended) }
  }

  var marks: [Mark] { state.withLock { $0.marks } }
  var steps: [String] { state.withLock { $0.steps } }
  var aliveObjects: Int { tracker.alive }
}

/// The error that ``failEverywhere(input:fileID:filePath:line:column:_:)`` throws in a step.
public struct InjectedFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name of the place.
  public let step: String

  /// The place, in words.
  public var description: String { "A failure was injected at '\(step)'." }
}
