// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport
internal import Stepwise

/// Runs stages, each with a performer, until one has a result.
///
/// A stage is passed to its performer before `start`, or the call that produced the stage, returns.
package final class StageRunner<Stage, Result>: Sendable {
  /// What a stage has: a result, or a way to the next stage.
  package enum Visit {
    case result(() throws -> Result)
    case next((@escaping @Sendable (@escaping () throws -> Stage) -> Void) -> Void)
  }

  private struct State: Sendable {
    /// The thread that is inside a performer, if that performer may run its work immediately.
    var thread: UInt?
    /// The stage that was reached on that thread meanwhile.
    var next: Sent<Stage>?
  }

  private let performer: Sent<(Stage) -> Performer>
  private let visit: Sent<(Stage) throws -> Visit>
  private let complete: Sent<(@escaping () throws -> Result) -> Void>
  private let state = Lock(State())

  /// - Parameters:
  ///   - performer: Returns where a stage runs.
  ///   - visit: Called with each stage where its performer says.
  ///   - complete: Called with the result, or the error, where it arises.
  package init(
    performer: @escaping (Stage) -> Performer,
    visit: @escaping (Stage) throws -> Visit,
    complete: @escaping (@escaping () throws -> Result) -> Void
  ) {
    self.performer = Sent(performer)
    self.visit = Sent(visit)
    self.complete = Sent(complete)
  }

  /// Runs a stage and those that follow it.
  package func start(_ stage: Stage) {
    let thread = Platform.currentThread
    var current: Sent? = Sent(stage)
    let (isNested, replaced) = state.withLock { [current] state -> (Bool, Sent<Stage>?) in
      guard state.thread == thread else {
        state.thread = thread
        return (false, nil)
      }
      return (true, exchange(&state.next, with: current))
    }
    withExtendedLifetime(replaced) {}
    // Otherwise a performer that runs its work immediately would nest each stage in the previous one.
    guard !isNested else { return }
    while let stage = current {
      let perform = performer.value(stage.value)
      perform { self.run(stage) }
      current = state.withLock { state in
        guard state.thread == thread else { return nil }
        defer { state.next = nil }
        if state.next == nil { state.thread = nil }
        return state.next
      }
    }
  }

  private func run(_ stage: Sent<Stage>) {
    do {
      switch try visit.value(stage.value) {
      case .result(let useResult): complete.value(useResult)
      case .next(let perform):
        perform { useNext in
          do {
            self.start(try useNext())
          } catch {
            self.complete.value { throw error }
          }
        }
      }
    } catch {
      complete.value { throw error }
    }
  }
}
