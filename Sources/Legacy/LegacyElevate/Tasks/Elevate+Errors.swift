// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

// The handler of an error is the one for its own type, else the one for a type that it is of, else the one for its
// name, else the one for all errors. `onFinish` follows.
@available(*, deprecated)
extension Elevate {
  /// Sets the handler for errors that have none of their own.
  ///
  /// - Parameter handler: Called on the main actor, before `onFinish`.
  @available(*, deprecated, message: "Use onError(_:) of Job")
  @preconcurrency
  public func onError(_ handler: @escaping @MainActor (any Error) -> Void) {
    TaskDraft.set { $0.onError = handler }
  }

  /// Sets the handler for a `TimeoutError`, that is for the end of `timeout`.
  ///
  /// - Parameter handler: Called on the main actor, before `onFinish`.
  @available(*, deprecated, message: "Use onTimeout(_:) of Job")
  @preconcurrency
  public func onTimeout(_ handler: @escaping @MainActor () -> Void) { on("timeout", handler) }

  /// Sets the handler for errors of one type: `on_offline` of the original is `on(OfflineError.self)`.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - handler: Called on the main actor, before `onFinish`.
  @available(*, deprecated, message: "Use onError(of:_:) of Job")
  @preconcurrency
  public func on<Failure: Error>(_ type: Failure.Type, _ handler: @escaping @MainActor (Failure) -> Void) {
    let handler = TaskDraft.TypeHandler(type: type, matches: { $0 is Failure }) { error in
      if let error = error as? Failure { handler(error) }
    }
    TaskDraft.set { $0.types.append(handler) }
  }

  /// Sets the handler for errors of one type, which it is not given.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - handler: Called on the main actor, before `onFinish`.
  @available(*, deprecated, message: "Use onError(of:_:) of Job")
  @preconcurrency
  public func on<Failure: Error>(_ type: Failure.Type, _ handler: @escaping @MainActor () -> Void) {
    on(type) { (_: Failure) in handler() }
  }

  /// Sets the handler for errors whose type has a name: `on("offline")` is for each type that is called `OfflineError`.
  ///
  /// Case and underscores do not count, and `Error` at the end may be left out: `on_not_found` is `on("not_found")`.
  ///
  /// - Parameters:
  ///   - name: The name of the type, without its module.
  ///   - handler: Called on the main actor, before `onFinish`.
  @available(*, deprecated, message: "Use onError(of:_:) of Job, with the type itself")
  @preconcurrency
  public func on(_ name: String, _ handler: @escaping @MainActor (any Error) -> Void) {
    TaskDraft.set { $0.names[TaskDraft.key(name)] = handler }
  }

  /// Sets the handler for errors whose type has a name, which it is not given.
  ///
  /// - Parameters:
  ///   - name: The name of the type, without its module.
  ///   - handler: Called on the main actor, before `onFinish`.
  @available(*, deprecated, message: "Use onError(of:_:) of Job, with the type itself")
  @preconcurrency
  public func on(_ name: String, _ handler: @escaping @MainActor () -> Void) {
    on(name) { (_: any Error) in handler() }
  }
}
