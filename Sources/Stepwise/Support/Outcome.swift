// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a run or a job has ended: with a value, with an error, or cancelled.
///
/// Your `finally` handlers and ``Run/outcome`` receive it. Cancellation is a separate case and not an error: your error
/// handling cannot swallow it by accident.
public enum Outcome<Value> {
  /// It ended with a value.
  case resolved(Value)

  /// It failed with an error.
  case failed(any Error)

  /// It was cancelled on request.
  case cancelled(Cancellation)

  /// Returns the value or throws what stands in its place.
  ///
  /// - Throws: the error of `.failed` as it is, and `CancellationError` for `.cancelled`.
  public func get() throws -> Value {
    switch self {
    case .resolved(let value): return value
    case .failed(let error): throw error
    case .cancelled: throw CancellationError()
    }
  }

  package func map<NewValue>(_ transform: (Value) throws -> NewValue) rethrows -> Outcome<NewValue> {
    switch self {
    case .resolved(let value): .resolved(try transform(value))
    case .failed(let error): .failed(error)
    case .cancelled(let cancellation): .cancelled(cancellation)
    }
  }
}

extension Outcome<Void> {
  /// How a run ends that was or was not cancelled in time; with a value when there is no error.
  init(_ error: (any Error)?, cancelledBy request: Cancellation?) {
    switch (error, request) {
    case (nil, _): self = .resolved(())
    case (let error?, nil): self = .failed(error)
    case (let error?, let request?):
      let underlying = error is CancellationError ? nil : error
      self = .cancelled(Cancellation(reason: request.reason, underlyingError: underlying))
    }
  }
}

extension Outcome: Sendable where Value: Sendable {}

extension Outcome: CustomStringConvertible, CustomDebugStringConvertible {
  /// How it ended, in words: "succeeded with Int", "failed: the disk is full", "cancelled: left the screen".
  ///
  /// It names the type of the value: a log never contains personal data or a large value by accident.
  public var description: String { words { "\(type(of: $0))" } }

  /// How it ended, with the value.
  public var debugDescription: String { words { String(reflecting: $0) } }

  private func words(_ text: (Any) -> String) -> String {
    switch self {
    case .resolved(let value): value is Void ? "succeeded" : "succeeded with \(text(value))"
    case .failed(let error): "failed: \(error)"
    case .cancelled(let cancellation): cancellation.description
    }
  }
}

/// The outcome of a chain's run that `finally` handlers receive, with the type of the value erased.
///
/// Cast the value if you need it: a handler serves all the steps before it, whose types differ.
public typealias ChainState = Outcome<any Sendable>

extension Result where Failure == any Error {
  package static func of(
    _ operation: () async throws -> Success
  ) async -> Self {
    do { return .success(try await operation()) } catch { return .failure(error) }
  }
}

/// Why a run, a job or a flow was cancelled, and what the interrupted step threw.
///
/// The reason is the text that you passed to `cancel`.
public struct Cancellation: Sendable {
  /// The reason that was passed to `cancel`; nil for plain task cancellation.
  public var reason: String?

  /// What the interrupted work threw, unless that was a `CancellationError`.
  public var underlyingError: (any Error)?

  /// Creates a description of a cancellation.
  public init(reason: String? = nil, underlyingError: (any Error)? = nil) {
    self.reason = reason
    self.underlyingError = underlyingError
  }
}

extension Cancellation: CustomStringConvertible {
  /// That it was cancelled, the reason, and the error of the interrupted work: "cancelled: left the screen".
  public var description: String {
    let reason = reason.map { ": \($0)" } ?? ""
    let error = underlyingError.map { " (interrupted: \($0))" } ?? ""
    return "cancelled\(reason)\(error)"
  }
}
