// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport

/// What goes from step to step: the output of the one, which is the input of the next.
struct Parcel: Sendable {
  let content: any AnySent

  /// The chain that a step chose to go on with; the steps that follow in its own chain are passed over then.
  let detour: Line?

  init<Value>(_ value: Value, detour: Line? = nil) {
    content = Sent(value)
    self.detour = detour
  }

  init(content: any AnySent) {
    self.content = content
    detour = nil
  }

  /// Takes the content out.
  ///
  /// - Throws: `WrongOutput`, which only the end of a chain can, after a step chose another chain.
  func open<Value>(as type: Value.Type = Value.self) throws -> Value {
    guard let content = content as? Sent<Value> else {
      throw WrongOutput(expected: "\(type)", found: "\(Swift.type(of: content.erased))")
    }
    return content.value
  }
}

/// A chain that a step chose to go on with ended with something else than the chain it was chosen in.
struct WrongOutput: Error, CustomStringConvertible {
  let expected: String
  let found: String

  var description: String {
    "a step went on with a chain whose output is \(found), in a chain whose output is \(expected)"
  }
}

/// A `Sent` without its type.
protocol AnySent: Sendable {
  var erased: Any { get }
}

extension Sent: AnySent {
  var erased: Any { value }
}
