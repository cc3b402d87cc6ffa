// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Step {
  /// Creates a step whose output is delivered through a callback.
  ///
  /// The body starts the work and passes the resolver to the callback. When the run is cancelled, the step ends as soon
  /// as the resolver's `onCancel` handlers have returned, even if the callback is never called. The body may be async;
  /// until it returns, it observes cancellation only through its task.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors and diagrams.
  ///   - file: The file to name in errors.
  ///   - line: The line to name in errors.
  ///   - body: Starts the work. An error that it throws is the step's error.
  /// - Returns: The step.
  public static func callback(
    _ name: String? = nil,
    file: String = #fileID,
    line: UInt = #line,
    _ body: nonisolated(nonsending) @escaping @Sendable (Input, Resolver<Output>) async throws -> Void
  ) -> Step {
    Step(name: name) { input, _ in
      try await withResolver(file: file, line: line) { resolver in try await body(input, resolver) }
    }
  }
}
