// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a task was launched with, by name.
///
/// Ruby gave them as instance variables: what was `@username` is `taskArgs.username`, or, where it has to be there,
/// `try taskArgs.value("username")`.
@dynamicMemberLookup
public struct TaskArgs: Sendable {
  private let values: [String: any Sendable]

  /// Makes a list of arguments.
  public init(_ values: [String: any Sendable] = [:]) { self.values = values }

  /// The argument of a name, or nil when there is none.
  public subscript(name: String) -> (any Sendable)? { values[name] }

  /// The argument of a name, or nil when there is none, or one of another type.
  public subscript<Value>(dynamicMember name: String) -> Value? { values[name] as? Value }

  /// The argument of a name.
  ///
  /// - Parameters:
  ///   - name: The name that the argument was given by.
  ///   - type: Its type.
  /// - Returns: The argument.
  /// - Throws: An error that says so when there is none of that name and type.
  public func value<Value>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
    guard let value = values[name] as? Value else { throw WrongValue("\(name)", type, found: values[name]) }
    return value
  }
}

/// A value that is not there, or of another type than asked for.
struct WrongValue: Error, CustomStringConvertible {
  let description: String

  init(_ name: String, _ expected: Any.Type, found: Any?) {
    let found = found.map { "it is a \(type(of: $0))" } ?? "there is none"
    description = "\(name) is not a \(expected): \(found)"
  }
}
