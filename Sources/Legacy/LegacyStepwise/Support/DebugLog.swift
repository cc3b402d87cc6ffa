// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// What `StepDebugLoggingEnabled` switches on: a line when a step begins, and one when it ends.
package struct DebugLog: Sendable {
  /// Whether lines are written.
  static let isEnabled = Shared(false)

  /// Where lines go.
  package static let output = Shared<@Sendable (String) -> Void> { line in
    print(line)  // Proof: to print is what the switch is for, and it is off until somebody asks.
  }

  /// A value that any thread may read and change.
  package final class Shared<Value: Sendable>: Sendable {
    private let lock: Lock<Value>

    init(_ value: Value) {
      lock = Lock(value)
    }

    /// The value.
    package var value: Value {
      get { lock.withLock { $0 } }
      set { lock.withLock { $0 = newValue } }
    }
  }

  private let name: String

  init(step name: String?) {
    self.name = name.map { "step \"\($0)\"" } ?? "step"
  }

  func write(_ event: String, _ detail: @autoclosure () -> Any) {
    guard Self.isEnabled.value else { return }
    Self.output.value("Stepwise: \(name) \(event) \(detail())")
  }
}
