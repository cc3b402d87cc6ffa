// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// What a blocking operation of yours registers with, so that cancelling the task cancels the operation.
public final class IOCoordinator: Sendable {
  /// What can be cancelled while it blocks.
  public protocol Operation: AnyObject, Sendable {
    /// Ends the operation, so that the thread that it blocks goes on.
    func cancel()
  }

  private struct State {
    var operation: (any Operation)?
    var isCancelled = false
    /// What it was cancelled with; nil for a `CancelledError`.
    var error: (any Error)?
  }

  private let state = Lock(State())

  /// The coordinator of the task whose background block the caller is in; nil elsewhere.
  @available(*, deprecated, message: "Use withTaskCancellationHandler")
  public static var forTask: IOCoordinator? { TaskScope.reachable?.coordinator }

  /// Creates a coordinator, for tests of operations.
  public init() {}

  /// A Boolean value that indicates whether the coordinator was cancelled.
  @available(*, deprecated, message: "Use Task.isCancelled")
  public var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Cancels the operation that blocks, if there is one, and has both signals throw from now on.
  ///
  /// - Parameter error: What they throw; nil for a `CancelledError`.
  @available(*, deprecated, message: "Cancel the JobRun")
  public func cancel(_ error: (any Error)? = nil) { stop(error) }

  func stop(_ error: (any Error)? = nil) {
    let operation = state.withLock { state in
      state.isCancelled = true
      state.error = error
      return state.operation
    }
    operation?.cancel()
  }

  /// Registers an operation that is about to block.
  ///
  /// - Parameter operation: The operation.
  /// - Throws: What the coordinator was cancelled with.
  @available(*, deprecated, message: "Use withTaskCancellationHandler")
  public func signalBlocked(_ operation: any Operation) throws {
    let previous = try state.withLock { state in
      if state.isCancelled { throw state.error ?? CancelledError() }
      defer { state.operation = operation }
      return state.operation
    }
    withExtendedLifetime(previous) {}
  }

  /// Removes an operation that blocks no longer.
  ///
  /// - Parameter operation: The operation.
  /// - Throws: What the coordinator was cancelled with.
  @available(*, deprecated, message: "Use withTaskCancellationHandler")
  public func signalUnblocked(_ operation: any Operation) throws {
    let (previous, isCancelled, error) = state.withLock { state in
      defer { state.operation = nil }
      return (state.operation, state.isCancelled, state.error)
    }
    withExtendedLifetime(previous) {}
    if isCancelled { throw error ?? CancelledError() }
  }
}
