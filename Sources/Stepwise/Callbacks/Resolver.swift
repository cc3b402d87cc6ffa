// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Takes the result of a callback, exactly once.
///
/// The first call wins and returns `true`; later ones return `false` and change nothing. A resolver that is let go of
/// without a call fails with ``ResolverError/abandoned``, so that a lost callback is an error and not a hang. All members
/// may be used from any thread.
public final class Resolver<Value: Sendable>: Sendable {
  private let box: ResolverBox<Value>
  private let step: (any StepReporting)?

  init(box: ResolverBox<Value>) {
    self.box = box
    step = StepContext.current
  }

  deinit { box.release() }

  /// Ends the wait with a value.
  ///
  /// - Returns: Whether this was the first call.
  @discardableResult
  public func resolve(_ value: Value) -> Bool { box.call(.success(value)) }

  /// Ends the wait with an error.
  ///
  /// - Returns: Whether this was the first call.
  @discardableResult
  public func fail(_ error: any Error) -> Bool { box.call(.failure(error)) }

  /// Ends the wait with a value or an error.
  ///
  /// - Returns: Whether this was the first call.
  @discardableResult
  public func resolve(with result: Result<Value, any Error>) -> Bool { box.call(result) }

  /// Ends the wait with what a callback of two optionals was given.
  ///
  /// The error wins over the value; neither is ``ResolverError/noValueAndNoError``.
  ///
  /// - Returns: Whether this was the first call.
  @discardableResult
  public func resolve(_ value: Value?, _ error: (any Error)?) -> Bool {
    if let error { return box.call(.failure(error)) }
    if let value { return box.call(.success(value)) }
    return box.call(.failure(ResolverError(.noValueAndNoError, file: box.file, line: box.line)))
  }

  /// Ends the wait with what a closure returns or throws.
  ///
  /// - Returns: Whether this was the first call.
  @discardableResult
  public func resolve(_ value: () throws -> Value) -> Bool {
    box.call(Result { try value() })
  }

  /// Calls a handler when the waiting step is cancelled before the first call; at once when it was already.
  ///
  /// The step ends after its handlers have returned. They run on the thread that cancels, and must not block.
  /// A handler is kept until the step ends: if it holds an object that holds the callback, a callback that is lost is not
  /// noticed, so capture that object weakly.
  ///
  /// - Parameter handler: What to do; it is given the reason.
  public func onCancel(_ handler: @escaping @Sendable (_ reason: String?) -> Void) { box.onCancel(handler) }

  /// Calls a handler with the value of a first call that comes after the step was cancelled or timed out.
  ///
  /// - Parameter handler: What to do with the value that nobody waits for; it runs on the thread of the call.
  public func onLateValue(_ handler: @escaping @Sendable (Value) -> Void) { box.onLateValue(handler) }

  /// Reports how far the step is, as `StepProgress.report` does, from any thread.
  ///
  /// - Parameter fraction: From 0 to 1; values outside are moved to the nearest.
  public func report(_ fraction: Double) { step?.report(fraction) }
}

extension Resolver where Value == Void {
  /// Ends the wait.
  ///
  /// - Returns: Whether this was the first call.
  @discardableResult
  public func resolve() -> Bool { resolve(()) }

  /// Ends the wait: with an error if there is one.
  ///
  /// - Returns: Whether this was the first call.
  @discardableResult
  public func resolve(_ error: (any Error)?) -> Bool { resolve(error == nil ? () : nil, error) }
}
