// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Work in stages, each of which produces the next one until there is a result; usually an enum.
///
/// ```swift
/// enum FileOpen: Progression {
///   case read(URL), parse(Data), success(Document)
///
///   func next() async throws -> FileOpen {
///     switch self {
///     case .read(let url): .parse(try Data(contentsOf: url))
///     case .parse(let data): .success(try Document(data))
///     case .success: try completed()
///     }
///   }
///
///   var result: Document? {
///     if case .success(let document) = self { document } else { nil }
///   }
/// }
/// ```
///
/// A stage holds everything that later stages need, so that any stage can be stored and resumed.
public nonisolated protocol Progression<Result>: Sendable {
  /// The type of the result that the last stage holds.
  associatedtype Result: Sendable

  /// Does the work of this stage.
  ///
  /// This method runs off the caller's actor. It is not called for a stage that has a result.
  ///
  /// - Returns: The next stage.
  /// - Throws: An error that ends the run at this stage. The last stage throws what ``completed()`` throws.
  @concurrent func next() async throws -> Self

  /// The result, which marks a stage as the last one; nil for every other stage.
  var result: Result? { get }
}

extension Progression {
  /// Throws the error for a call of `next()` on the last stage.
  ///
  /// - Returns: Never; the return type fits the `next()` that calls it.
  /// - Throws: ``ProgressionError/completed(stage:)``, which names the stage.
  public func completed() throws -> Self {
    throw ProgressionError.completed(stage: String(describing: self))
  }
}
