// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A result without its type, which stays an optional or an existential if it is one.
package protocol AnyFlowBox: AnyObject, Sendable {
  var any: any Sendable { get }
}

package final class FlowBox<Value: Sendable>: AnyFlowBox {
  package let value: Value

  package init(_ value: Value) {
    self.value = value
  }

  package var any: any Sendable { value }
}

/// How an ask has ended, without the type of the result.
package enum FlowEnd: Sendable {
  case answered(any AnyFlowBox)
  case ended(FlowEnding)
}

/// How an ask has ended.
enum FlowAskEnd<Result: Sendable>: Sendable {
  case answered(Result)
  case ended(FlowEnding)

  init(_ outcome: Outcome<Result>) {
    switch outcome {
    case .resolved(let value): self = .answered(value)
    case .failed(let error): self = .ended(.failed(error))
    case .cancelled(let cancellation): self = .ended(.cancelled(cancellation))
    }
  }

  static var cancelledByTask: FlowAskEnd {
    .ended(.cancelled(Cancellation(reason: CancellationScope.current?.knownCause?.reason)))
  }

  var erased: FlowEnd {
    switch self {
    case .answered(let result): .answered(FlowBox(result))
    case .ended(let ending): .ended(ending)
    }
  }

  var answer: FlowAnswer<Result> {
    switch self {
    case .answered(let result): .answered(result)
    case .ended(.back): .back
    case .ended(.abandoned), .ended(.failed): .abandoned
    case .ended(.cancelled): .cancelled
    }
  }

  /// - Throws: what stands in the place of a result.
  func get(step: String) throws -> Result {
    switch self {
    case .answered(let result): return result
    case .ended(let ending): throw ending.error(of: step)
    }
  }
}
