// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// Whether every chain prints a line when a step begins, and one when it ends.
@available(*, deprecated, message: "Read `run.events` of the Run that start returns")
public var StepDebugLoggingEnabled: Bool {
  get { DebugLog.isEnabled.withLock { $0 } }
  set { DebugLog.isEnabled.withLock { $0 = newValue } }
}

/// The log that `StepDebugLoggingEnabled` switches on: a line when a step begins, and one when it ends.
///
/// The lines are those of the original, which wrote them with `debugPrint`.
package struct DebugLog: Sendable {
  /// Whether lines are written.
  static let isEnabled = Lock(false)

  private static let writer = Lock<@Sendable (String) -> Void> { line in
    debugPrint(line)  // Safety: to print is what the switch is for, and it is off by default.
  }

  /// Where lines go.
  package static var output: @Sendable (String) -> Void {
    get { writer.withLock { $0 } }
    set { _ = writer.withLock { exchange(&$0, with: newValue) } }
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
    guard Self.isEnabled.withLock({ $0 }) else { return }
    Self.output(line())
  }
}
