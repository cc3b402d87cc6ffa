// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A value with its type erased, which stays an optional or an existential if it is one.
@usableFromInline
package protocol AnyBox: AnyObject, Sendable {
  var any: any Sendable { get }
}

/// A value that passes through code without its type.
@usableFromInline
package final class Box<Value: Sendable>: AnyBox {
  @usableFromInline package let value: Value

  @inlinable
  package init(_ value: Value) {
    self.value = value
  }

  @usableFromInline package var any: any Sendable { value }
}

extension AnyBox {
  /// Whether the box was created for a type.
  package func isBox<Value: Sendable>(of type: Value.Type) -> Bool { self is Box<Value> }
}
