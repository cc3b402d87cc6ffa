// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A progression in a line, with its type erased.
@usableFromInline
struct LineWork: Sendable {
  /// The progression as it was added.
  let progression: any AnyBox
  /// A closure that the user's module creates, so that the compiler can specialize it for the type.
  ///
  /// It boxes an element of ``ProductionLine/Results``.
  let perform: nonisolated(nonsending) @Sendable () async -> any AnyBox

  @usableFromInline
  init(_ progression: any AnyBox, perform: nonisolated(nonsending) @escaping @Sendable () async -> any AnyBox) {
    self.progression = progression
    self.perform = perform
  }
}

extension Progression {
  /// Runs the progression for a line.
  @inlinable
  nonisolated(nonsending) func lineProduct() async -> Box<ProductionLine<Self>.Results.Element> {
    do {
      return Box((self, .success(try await run())))
    } catch {
      return Box((self, .failure(error)))
    }
  }
}
