// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport

/// Several progressions in a row, as one progression.
@available(*, deprecated, message: "Use Serial of Stepwise")
public enum Serial<P: Progression>: Progression {
  /// What the progressions resulted in, in order.
  public typealias Result = [P.Result]

  /// Nothing has begun.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  case start(stages: [P])

  /// One is at a stage, others have completed or have yet to begin.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  case running(remaining: [P], active: P, completedSoFar: [P.Result])

  /// All have completed.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  case completed([P.Result])

  /// The results, when all have completed.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  public var result: [P.Result]? {
    if case .completed(let results) = self { results } else { nil }
  }

  /// What gives the stage after this one.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  public func next() -> Deferred<Serial> {
    switch self {
    case .start(let stages): Self.after([], remaining: stages)
    case .running(let remaining, let active, let completed):
      if let result = active.result {
        Self.after(completed + CollectionOfOne(result), remaining: remaining)
      } else {
        active.next().map(Self.resume(remaining: Sent(remaining), completedSoFar: Sent(completed)))
      }
    case .completed: completedStep(self)
    }
  }

  private static func after(_ results: [P.Result], remaining: [P]) -> Deferred<Serial> {
    let next: Serial =
      if let active = remaining.first {
        .running(remaining: Array(remaining.dropFirst()), active: active, completedSoFar: results)
      } else {
        .completed(results)
      }
    let advanced = Sent(next)
    return Deferred { advanced.value }
  }

  private static func resume(remaining: Sent<[P]>, completedSoFar: Sent<[P.Result]>) -> @Sendable (P) -> Serial {
    { active in .running(remaining: remaining.value, active: active, completedSoFar: completedSoFar.value) }
  }
}

@available(*, deprecated)
extension Serial: Sendable where P: Sendable, P.Result: Sendable {}

@available(*, deprecated)
extension Sequence where Element: Progression {
  /// All of the progressions, one after the other, and their results.
  @available(*, deprecated, message: "Use `try await Serial(progressions).run()` of Stepwise")
  @preconcurrency
  public func serially(on performer: sending @escaping AsyncPerformer) -> Deferred<[Element.Result]> {
    Serial.start(stages: Array(self)).deferred(Performer(performer), progress: nil)
  }

  /// All of the progressions, one after the other in a queue, and their results.
  @available(*, deprecated, message: "Use `try await Serial(progressions).run()` of Stepwise")
  public func serially(on queue: DispatchQueue) -> Deferred<[Element.Result]> {
    Serial.start(stages: Array(self)).deferred(Performer(queue), progress: nil)
  }
}
