// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Work in stages, each of which has a task that produces the next one, until there is a completion.
///
/// Each version declared some of the members, and the others follow from them: 0.2 `nextTask`, and the last stage is
/// the result; 0.3 `nextTask` and `completion`; 0.4 to 0.6 `next()` and `result`.
@available(*, deprecated, message: "Use Progression of Stepwise, whose next() is async throws, and a result")
public protocol StageProtocol: CompletingProtocol, SendableMetatype {
  /// The type of `completion`, the stage itself unless declared.
  associatedtype Completion = Self

  /// The type of `result`, that of `completion` unless declared.
  associatedtype Result = Completion

  /// The work that gives the stage after this one; nil for the last.
  var nextTask: Deferred<Self>? { get }

  /// The completion, which the last stage has.
  var completion: Completion? { get }

  /// The work that gives the stage after this one.
  func next() -> Deferred<Self>

  /// The result, which the last stage has.
  var result: Result? { get }
}

@available(*, deprecated)
extension StageProtocol {
  /// The work of `next()`, unless there is a result.
  public var nextTask: Deferred<Self>? { result == nil ? next() : nil }

  /// Work that fails, unless the stage declares one of `next()` and `nextTask`.
  public func next() -> Deferred<Self> {
    let stage = self
    return .unit { throw StageError.stageInvalid(stage) }
  }

  /// Returns the completion.
  ///
  /// - Throws: ``StageError/expectedCompletion(_:)`` when there is none.
  public func requireCompletion() throws -> Completion {
    guard let completion else { throw StageError.expectedCompletion(self) }
    return completion
  }

  func requireResult() throws -> Result {
    guard let result else { throw StageError.expectedCompletion(self) }
    return result
  }
}

@available(*, deprecated)
extension StageProtocol where Completion == Self {
  /// The stage itself.
  public var completion: Completion? { self }
}

@available(*, deprecated)
extension StageProtocol where Result == Completion {
  /// The completion.
  public var result: Result? { completion }
}
