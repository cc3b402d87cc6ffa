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

  typealias Undo = nonisolated(nonsending) @Sendable (Output) async throws -> Void

  let body: nonisolated(nonsending) @Sendable (Input, ChainStep) async throws -> Output
  /// Undoes the step when the run of a chain that contains it fails or is cancelled afterwards.
  let undo: Undo?

  init(
    name: String?,
    undo: Undo? = nil,
    body: nonisolated(nonsending) @escaping @Sendable (Input, ChainStep) async throws -> Output
  ) {
    self.name = name
    self.undo = undo
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

  /// Creates a step that can be undone.
  ///
  /// When a later step of the chain fails, or the run is cancelled, the completed steps are undone, newest first. The
  /// undo is shielded from cancellation and may suspend. Modifiers of the step apply to its body alone.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors and diagrams.
  ///   - undo: Undoes the step; receives its output.
  ///   - body: Receives the output of the previous step. An error that it throws ends the run.
  public init(
    _ name: String? = nil,
    undo: nonisolated(nonsending) @escaping @Sendable (Output) async throws -> Void,
    _ body: nonisolated(nonsending) @escaping @Sendable (Input) async throws -> Output
  ) {
    self.init(name: name, undo: undo) { input, _ in try await body(input) }
  }
}
