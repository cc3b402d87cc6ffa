// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

package import Dispatch
internal import LegacySupport
internal import Stepwise

/// Runs stages, each with a performer, until one has a result.
///
/// A stage is passed to its performer before `start`, or the call that produced the stage, returns.
@available(*, deprecated)
package final class StageRunner<Stage, Result>: Sendable {
  /// What a stage has: a result, or the work that produces the next stage.
  package enum Visit {
    case result(() throws -> Result)
    case next(Deferred<Stage>)
  }

  private struct State: Sendable {
    /// The thread that is inside a performer, if that performer may run its work immediately.
    var thread: UInt?
    /// The stage that was reached on that thread.
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
    let (isNested, _) = state.withLock { [current] state -> (Bool, Sent<Stage>?) in
      guard state.thread == thread else {
        state.thread = thread
        return (false, nil)
      }
      return (true, exchange(&state.next, with: current))
    }
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
      case .next(let deferred):
        deferred.pass { useNext in
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

/// What a future's `resolve` calls: the first call counts.
///
/// A future that releases its `resolve` without a call fails instead of never completing.
package final class Resolution<Result>: Sendable {
  private let handler: Lock<Sent<(@escaping () throws -> Result) -> Void>?>

  package init(_ handler: @escaping (@escaping () throws -> Result) -> Void) {
    self.handler = Lock(Sent(handler))
  }

  deinit {
    take()?.value { throw ResolverError(.abandoned, file: "Deferred.future", line: 0) }
  }

  package func resolve(_ useResult: @escaping () throws -> Result) { take()?.value(useResult) }

  private func take() -> Sent<(@escaping () throws -> Result) -> Void>? { handler.withLock { $0.take() } }
}

/// Runs work later or elsewhere, as a queue does.
@available(*, deprecated, message: "Use a TaskExecutor, or the actor that the work is bound to")
public typealias AsyncPerformer = (@escaping @Sendable () -> Void) -> Void

/// A performer that may be used on any thread.
package struct Performer: Sendable {
  private let perform: Sent<(@escaping @Sendable () -> Void) -> Void>

  package init(_ perform: @escaping (@escaping @Sendable () -> Void) -> Void) {
    self.perform = Sent(perform)
  }

  package init(_ queue: DispatchQueue) {
    self.init { work in queue.async(execute: work) }
  }

  package init(_ qos: DispatchQoS.QoSClass) { self.init(.global(qos: qos)) }

  package func callAsFunction(_ work: @escaping @Sendable () -> Void) { perform.value(work) }
}
