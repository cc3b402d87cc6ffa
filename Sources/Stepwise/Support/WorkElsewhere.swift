// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Counts work of the library that has left the executor of the code that waits for it, such as a file operation.
///
/// A test clock moves when its executor is idle. What the library does elsewhere must count as busy there, or a time limit
/// passes although no time has.
package struct WorkElsewhere: Sendable {
  @TaskLocal package static var current: WorkElsewhere?

  private let begin: @Sendable () -> Void
  private let end: @Sendable () -> Void

  package init(begin: @escaping @Sendable () -> Void, end: @escaping @Sendable () -> Void) {
    (self.begin, self.end) = (begin, end)
  }

  /// Counts work that begins in a task on another executor; it ends when the returned closure is called.
  package static func start() -> (@Sendable () -> Void)? {
    guard let current else { return nil }
    current.begin()
    return current.end
  }

  /// Runs work that leaves the executor, and comes back to it before the work counts as ended.
  package static func whileBusy<Value>(_ body: () async throws -> Value) async rethrows -> Value {
    guard let current else { return try await body() }
    current.begin()
    defer { current.end() }
    return try await body()
  }
}
