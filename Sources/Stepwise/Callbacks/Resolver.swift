// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Receives the result of a callback, exactly once.
///
/// The first call of `resolve` or `fail` wins and returns `true`. Later calls return `false` and have no effect. A
/// resolver that is released without a call fails with ``ResolverError/abandoned``, so that a lost callback becomes an
/// error instead of a hang. All members may be used from any thread.
public final class Resolver<Value: Sendable>: Sendable {
  private let box: ResolverBox<Value>
  private let step: (any StepReporting)?

  init(box: ResolverBox<Value>) {
    self.box = box
    step = StepContext.current
  }

  deinit { box.release() }

  /// Resolves with a value.
  ///
  /// - Returns: A Boolean value that indicates whether this was the first call.
  @discardableResult
  public func resolve(_ value: Value) -> Bool { box.call(.success(value)) }

  /// Fails with an error.
  ///
  /// - Returns: A Boolean value that indicates whether this was the first call.
  @discardableResult
  public func fail(_ error: any Error) -> Bool { box.call(.failure(error)) }

  /// Resolves with a value or fails with an error.
  ///
  /// - Returns: A Boolean value that indicates whether this was the first call.
  @discardableResult
  public func resolve(with result: Result<Value, any Error>) -> Bool { box.call(result) }

  /// Resolves with the two optionals that a callback received.
  ///
  /// The error takes precedence over the value. Without either, the resolver fails with
  /// ``ResolverError/noValueAndNoError``.
  ///
  /// - Returns: A Boolean value that indicates whether this was the first call.
  @discardableResult
  public func resolve(_ value: Value?, _ error: (any Error)?) -> Bool {
    if let error { return box.call(.failure(error)) }
    if let value { return box.call(.success(value)) }
    return box.call(.failure(ResolverError(.noValueAndNoError, file: box.file, line: box.line)))
  }

  /// Resolves with what a closure returns, or fails with what it throws.
  ///
  /// - Returns: A Boolean value that indicates whether this was the first call.
  @discardableResult
  public func resolve(_ value: () throws -> Value) -> Bool {
    box.call(Result { try value() })
  }

  /// Calls a handler when the waiting step is cancelled before the first call; immediately if it already was.
  ///
  /// The step ends after its handlers have returned. They run on the thread that cancels, and must not block. The
  /// resolver retains the handler until the step ends. If the handler retains an object that retains the callback, a
  /// lost callback goes unnoticed, so capture that object weakly.
  ///
  /// - Parameter handler: Receives the reason of the cancellation.
  public func onCancel(_ handler: @escaping @Sendable (_ reason: String?) -> Void) { box.onCancel(handler) }

  /// Calls a handler with a value that is delivered after the step was cancelled or timed out, by the first call.
  ///
  /// - Parameter handler: Receives the unused value, for example to release a resource; runs on the thread of the call.
  public func onLateValue(_ handler: @escaping @Sendable (Value) -> Void) { box.onLateValue(handler) }

  /// Reports the progress of the step, like `StepProgress.report`, from any thread.
  ///
  /// - Parameter fraction: The completed fraction, clamped to the range from 0 to 1.
  public func report(_ fraction: Double) { step?.report(fraction) }
}

extension Resolver where Value == Void {
  /// Resolves the step.
  ///
  /// - Returns: A Boolean value that indicates whether this was the first call.
  @discardableResult
  public func resolve() -> Bool { resolve(()) }

  /// Resolves the step, or fails with the error if there is one.
  ///
  /// - Returns: A Boolean value that indicates whether this was the first call.
  @discardableResult
  public func resolve(_ error: (any Error)?) -> Bool { resolve(error == nil ? () : nil, error) }
}
