// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Creates a chain of one step.
  @inlinable
  public init(_ body: nonisolated(nonsending) @escaping @Sendable (Input) async throws -> Output) {
    self.init(Path(name: nil, Output.self, Self.code(body)))
  }

  /// Creates a chain of one step with a name.
  @inlinable
  public init(
    _ name: String,
    _ body: nonisolated(nonsending) @escaping @Sendable (Input) async throws -> Output
  ) {
    self.init(Path(name: name, Output.self, Self.code(body)))
  }

  /// Creates a chain of one step that can be undone, like a step that `then` appends with an undo.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors and diagrams.
  ///   - undo: Undoes the step; receives its output.
  ///   - body: Receives the chain's input. An error that it throws ends the run.
  public init(
    _ name: String? = nil,
    undo: nonisolated(nonsending) @escaping @Sendable (Output) async throws -> Void,
    _ body: nonisolated(nonsending) @escaping @Sendable (Input) async throws -> Output
  ) {
    self.init(Path(Self.part(name, undo: undo, Self.code(body))))
  }

  /// Creates a chain of one step.
  public init(_ step: Step<Input, Output>) {
    self.init(Path(Self.part(step)))
  }

  /// Appends a step: a closure or a function.
  ///
  /// The closure runs off the caller's actor, unless it is isolated to one.
  ///
  /// - Parameter body: Receives the output of the previous step. An error that it throws ends the run.
  /// - Returns: A new chain; this one is unchanged.
  @inlinable
  public nonisolated func then<Next: Sendable>(
    _ body: nonisolated(nonsending) @escaping @Sendable (Output) async throws -> Next
  ) -> Chain<Input, Next> {
    Chain<Input, Next>(path.appending(name: nil, Next.self, Chain<Output, Next>.code(body)))
  }

  /// Appends a step with a name: a closure or a function.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors and diagrams.
  ///   - body: Receives the output of the previous step. An error that it throws ends the run.
  /// - Returns: A new chain; this one is unchanged.
  @inlinable
  public nonisolated func then<Next: Sendable>(
    _ name: String,
    _ body: nonisolated(nonsending) @escaping @Sendable (Output) async throws -> Next
  ) -> Chain<Input, Next> {
    Chain<Input, Next>(path.appending(name: name, Next.self, Chain<Output, Next>.code(body)))
  }

  /// Appends a step that can be undone.
  ///
  /// When a later step fails, or the run is cancelled, the completed steps are undone, newest first. The undos are
  /// shielded from cancellation and may suspend; each of them is called, even after another one has failed. An undo
  /// that throws is reported to `onError` as an ``UndoError``.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors and diagrams.
  ///   - undo: Undoes the step; receives its output.
  ///   - body: Receives the output of the previous step. An error that it throws ends the run.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func then<Next: Sendable>(
    _ name: String? = nil,
    undo: nonisolated(nonsending) @escaping @Sendable (Next) async throws -> Void,
    _ body: nonisolated(nonsending) @escaping @Sendable (Output) async throws -> Next
  ) -> Chain<Input, Next> {
    let next = Chain<Output, Next>.self
    return Chain<Input, Next>(path.appending(next.part(name, undo: undo, next.code(body))))
  }

  /// Appends a step that transforms the elements of a sequence concurrently.
  ///
  /// The first failure cancels the other elements and awaits them, and then ends the step.
  ///
  /// The step reports its progress by element; what ``StepProgress`` reports within an element is that element's share.
  /// A sequence that cannot count its elements in advance has no progress until it has ended.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors and diagrams.
  ///   - maxConcurrent: The maximum number of elements that are transformed concurrently; values below one count as
  ///     one.
  ///   - transform: Receives one element.
  /// - Returns: A new chain, whose output is in the order of the sequence; this one is unchanged.
  public nonisolated func thenMap<Element: Sendable>(
    _ name: String? = nil,
    maxConcurrent: Int,
    _ transform: nonisolated(nonsending) @escaping @Sendable (Output.Element) async throws -> Element
  ) -> Chain<Input, [Element]> where Output: Sequence, Output.Element: Sendable {
    let code: StepCode = { frame in
      let elements: Output = frame.slot.take()
      frame.slot.put(try await mapped(elements, maxConcurrent: maxConcurrent, transform))
    }
    return Chain<Input, [Element]>(path.appending(name: name, [Element].self, code))
  }

  /// The erased form of a closure.
  ///
  /// It is built at the call site, for concrete types: a step needs no thunk.
  @inlinable
  static func code(
    _ body: nonisolated(nonsending) @escaping @Sendable (Input) async throws -> Output
  ) -> StepCode {
    { frame in
      let output = try await body(frame.slot.take())
      frame.slot.put(output)
    }
  }

  private static func part(_ name: String?, undo: Step<Input, Output>.Undo?, _ code: @escaping StepCode) -> Node.Part {
    let stepUndo = undo.map { undo -> StepUndo in
      { slot in
        let output: Output = slot.copy(as: Output.self)
        return { try await undo(output) }
      }
    }
    return .step(name: name, output: Output.self, undo: stepUndo, code)
  }

  static func part(_ step: Step<Input, Output>) -> Node.Part {
    part(step.name, undo: step.undo) { frame in
      frame.slot.put(try await step.body(frame.slot.take(), frame.step))
    }
  }
}
