// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One step of a chain, created separately: a closure with a name and modifiers.
///
/// ```swift
/// let shrink = Step("shrink") { (image: Image) in image.scaled(by: 0.5) }.timeout(.seconds(5))
/// let chain = load.appending(shrink)
/// ```
public struct Step<Input: Sendable, Output: Sendable>: Sendable {
  /// The name of the step in events, errors and diagrams.
  public let name: String?

  let body: nonisolated(nonsending) @Sendable (Input, ChainStep) async throws -> Output

  init(name: String?, body: nonisolated(nonsending) @escaping @Sendable (Input, ChainStep) async throws -> Output) {
    self.name = name
    self.body = body
  }

  /// Creates a step.
  public init(_ body: nonisolated(nonsending) @escaping @Sendable (Input) async throws -> Output) {
    self.init(name: nil) { input, _ in try await body(input) }
  }

  /// Creates a step with a name.
  public init(_ name: String, _ body: nonisolated(nonsending) @escaping @Sendable (Input) async throws -> Output) {
    self.init(name: name) { input, _ in try await body(input) }
  }
}
