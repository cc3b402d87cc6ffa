// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

// A closure that names no types fits those of any type as well: the one that receives anything is the favoured one.
@available(*, deprecated)
extension Elevate {
  /// Sets the handler that receives each value that the work yields; of several values of one update, the first.
  ///
  /// - Parameter handler: Called on the main actor, in the order of the values.
  @available(*, deprecated, message: "Use onUpdate(_:) of Job, whose updates have a type")
  @preconcurrency
  public func onUpdate(_ handler: @escaping @MainActor (Any) -> Void) {
    TaskDraft.set { $0.onUpdate = { value in handler(value.updates.first ?? Any?.none as Any) } }
  }

  /// Sets the handler that receives each value of one type that the work yields, and none of another.
  ///
  /// - Parameter handler: Called on the main actor, in the order of the values.
  @available(*, deprecated, message: "Use onUpdate(_:) of Job, whose updates have a type")
  @preconcurrency
  @_disfavoredOverload
  public func onUpdate<Value>(_ handler: @escaping @MainActor (Value) -> Void) {
    TaskDraft.set { draft in
      draft.onUpdate = { value in
        if let value = value.updates.first as? Value { handler(value) }
      }
    }
  }

  /// Sets the handler that receives updates of two values.
  ///
  /// - Parameter handler: Called on the main actor, in the order of the updates, for values of its types.
  @available(*, deprecated, message: "Use onUpdate(_:) of Job, whose updates have a type")
  @preconcurrency
  public func onUpdate<First, Second>(_ handler: @escaping @MainActor (First, Second) -> Void) {
    TaskDraft.set { draft in
      draft.onUpdate = { value in
        let values = value.updates
        guard values.count >= 2, let first = values[0] as? First, let second = values[1] as? Second else { return }
        handler(first, second)
      }
    }
  }

  /// Sets the handler that receives updates of three values.
  ///
  /// - Parameter handler: Called on the main actor, in the order of the updates, for values of its types.
  @available(*, deprecated, message: "Use onUpdate(_:) of Job, whose updates have a type")
  @preconcurrency
  public func onUpdate<First, Second, Third>(_ handler: @escaping @MainActor (First, Second, Third) -> Void) {
    TaskDraft.set { draft in
      draft.onUpdate = { value in
        let values = value.updates
        guard values.count >= 3, let first = values[0] as? First, let second = values[1] as? Second,
          let third = values[2] as? Third
        else { return }
        handler(first, second, third)
      }
    }
  }
}

extension TaskValue {
  /// The values of an update; a single nil is none.
  fileprivate var updates: [Any] { (content as? UpdateValues)?.values ?? content.map { [$0] } ?? [] }
}
