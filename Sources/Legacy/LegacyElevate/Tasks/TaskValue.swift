// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport

/// What a task returned or yielded, without its type.
public struct TaskValue: Sendable {
  private let sent: Sent<Any?>

  init<Value>(_ value: sending Value) {
    sent = Sent((value as? any Wrapping).map(\.wrapped) ?? value)
  }

  /// The value, nil for a nil of any type.
  var content: Any? { sent.value }

  /// The value, of a type that more than one may use at a time.
  ///
  /// - Parameter type: Its type.
  /// - Returns: The value.
  /// - Throws: An error that says so when it is of another type.
  public func value<Value: Sendable>(as type: Value.Type = Value.self) throws -> Value {
    if let value = content as? Value { return value }
    // A nil of an optional type.
    if content == nil, let none = Optional<Never>.none as? Value { return none }
    throw WrongValue("the value", type, found: content)
  }
}

private protocol Wrapping {
  var wrapped: Any? { get }
}

extension Optional: Wrapping {
  fileprivate var wrapped: Any? { flatMap { ($0 as? any Wrapping).map(\.wrapped) ?? $0 } }
}
