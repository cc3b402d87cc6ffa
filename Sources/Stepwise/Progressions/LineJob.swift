// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A progression in a line, with its type erased.
@usableFromInline
struct LineWork: Sendable {
  /// A `LineProduct`.
  @usableFromInline typealias Product = any AnyObject & Sendable

  /// A `LineJob`.
  let job: any AnyObject & Sendable
  /// A closure that the user's module creates, so that the compiler can specialize it for the type.
  let perform: nonisolated(nonsending) @Sendable () async -> Product

  @usableFromInline
  init(_ job: any AnyObject & Sendable, perform: nonisolated(nonsending) @escaping @Sendable () async -> Product) {
    self.job = job
    self.perform = perform
  }
}

/// A progression as it was added to a line.
@usableFromInline
final class LineJob<P: Progression>: Sendable {
  @usableFromInline let progression: P

  @inlinable
  init(_ progression: P) {
    self.progression = progression
  }

  /// Runs the progression.
  @inlinable
  nonisolated(nonsending) func perform() async -> LineProduct<P> {
    do {
      return LineProduct((progression, .success(try await progression.run(StuckWatch()))))
    } catch {
      return LineProduct((progression, .failure(error)))
    }
  }
}

/// The product of a progression in a line.
@usableFromInline
final class LineProduct<P: Progression>: Sendable {
  @usableFromInline let element: ProductionLine<P>.Results.Element

  @inlinable
  init(_ element: ProductionLine<P>.Results.Element) {
    self.element = element
  }
}
