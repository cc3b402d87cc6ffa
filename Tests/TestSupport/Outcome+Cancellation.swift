// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

package import Stepwise

extension Outcome {
  /// What the outcome was cancelled with; nil when it was not.
  package var cancellation: Cancellation? {
    guard case .cancelled(let cancellation) = self else { return nil }
    return cancellation
  }

  /// The outcome in a word, with the reason of a cancellation.
  package var summary: String {
    switch self {
    case .resolved(let value): "resolved \(value)"
    case .failed(let error): "failed \(error)"
    case .cancelled(let cancellation): "cancelled \(cancellation.reason ?? "-")"
    }
  }
}
