// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// Whether every chain prints a line when a step begins, and one when it ends.
@available(*, deprecated, message: "Read `run.events` of the Run that start returns")
public var StepDebugLoggingEnabled: Bool {
  get { DebugLog.isEnabled.value }
  set { DebugLog.isEnabled.value = newValue }
}

/// The log that `StepDebugLoggingEnabled` switches on: a line when a step begins, and one when it ends.
///
/// The lines are those of the original, which wrote them with `debugPrint`.
package struct DebugLog: Sendable {
  /// Whether lines are written.
  package static let isEnabled = Shared(false)

  /// Where lines go.
  package static let output = Shared<@Sendable (String) -> Void> { line in
    debugPrint(line)  // Safety: to print is what the switch is for, and it is off by default.
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
      set { _ = lock.withLock { exchange(&$0, with: newValue) } }
    }
  }

  private let name: String?

  init(step name: String?) {
    self.name = name
  }

  private var step: String { name.map { "[Step '\($0)']" } ?? "[Step]" }

  func starting(with input: Any) { write("Starting \(step) with input: \(input)") }
  func resolved(with output: Any) { write("Resolved \(step) with output: \(output)") }
  func errored(_ error: any Error) { write("\(step) errored: \(error)") }
  func cancelled(reason: String?) { write("\(step) cancelled" + (reason.map { " with reason: \($0)." } ?? ".")) }

  private func write(_ line: @autoclosure () -> String) {
    guard Self.isEnabled.value else { return }
    Self.output.value(line())
  }
}
