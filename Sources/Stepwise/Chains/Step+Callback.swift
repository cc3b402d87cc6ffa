// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Step {
  /// Creates a step whose output comes through a callback.
  ///
  /// The body starts the work and hands the resolver to the callback. When the run is cancelled the step ends at once, after
  /// the resolver's `onCancel` handlers have returned, even if the callback never comes. The body may be async: until it has
  /// returned, a cancel reaches it as Task cancellation only.
  ///
  /// - Parameters:
  ///   - name: What events, errors and pictures call the step.
  ///   - file: The file named in errors.
  ///   - line: The line named in errors.
  ///   - body: Starts the work; what it throws is the step's error.
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
