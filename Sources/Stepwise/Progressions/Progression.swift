// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Work in stages, each of which produces the next one until there is a result: an enum, as a rule.
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
/// A stage holds all that the stages after it need, so that any stage can be kept and gone on from.
public nonisolated protocol Progression: Sendable {
  /// What the last stage holds.
  associatedtype Result: Sendable

  /// Does the work of this stage.
  ///
  /// It is called off the caller's actor, and not for a stage that has a result.
  ///
  /// - Returns: The stage after this one.
  /// - Throws: What keeps this stage from being left; from the last stage, what ``completed()`` throws.
  @concurrent func next() async throws -> Self

  /// The result, which is what makes a stage the last one; nil before.
  var result: Result? { get }
}

extension Progression {
  /// Ends `next()` of the last stage, which has nothing after it.
  ///
  /// - Returns: Nothing.
  /// - Throws: Always ``ProgressionError/completed(stage:)``, which names the stage.
  public func completed() throws -> Self {
    throw ProgressionError.completed(stage: String(describing: self))
  }
}
