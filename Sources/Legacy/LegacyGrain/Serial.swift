// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport

/// Several progressions, one after the other, as one progression in which each of them is a stage.
@available(*, deprecated, message: "Use Serial of Stepwise")
public enum Serial<P: Progression>: Progression {
  /// The results of the progressions, in order.
  public typealias Result = [P.Result]

  /// No progression has run.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  case start(stages: [P], performer: AsyncPerformer)

  /// One progression is next, others have completed or follow it.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  case running(remainingStages: [P], activeStage: P, completedSoFar: [P.Result], performer: AsyncPerformer)

  /// All progressions have completed.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  case completed([P.Result])

  /// The results, when all progressions have completed.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  public var result: [P.Result]? {
    if case .completed(let results) = self { results } else { nil }
  }

  /// Advances to the next progression, or returns the work of the active one.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  public mutating func updateOrDeferNext() throws -> Deferred<Serial>? {
    switch self {
    case .start(let stages, let performer):
      self = Self.after([], remaining: stages[...], performer: performer)
      return nil
    case .running(let remaining, let active, let completed, let performer):
      return active.deferred(Performer(performer), progress: nil).map { result in
        Self.after(completed + CollectionOfOne(result), remaining: remaining[...], performer: performer)
      }
    case .completed:
      return nil
    }
  }

  private static func after(
    _ results: [P.Result],
    remaining: ArraySlice<P>,
    performer: @escaping AsyncPerformer
  ) -> Serial {
    guard let active = remaining.first else { return .completed(results) }
    return .running(
      remainingStages: Array(remaining.dropFirst()),
      activeStage: active,
      completedSoFar: results,
      performer: performer
    )
  }
}

@available(*, unavailable)
extension Serial: Sendable {}

@available(*, deprecated)
extension Sequence where Element: Progression {
  /// All of the progressions, one after the other, and their results.
  @available(*, deprecated, message: "Use `try await Serial(progressions).run()` of Stepwise")
  @preconcurrency
  public func serially(on performer: sending @escaping AsyncPerformer) -> Deferred<[Element.Result]> {
    let performer = Performer(performer)
    return Serial.start(stages: Array(self), performer: { work in performer(work) }).deferred(performer, progress: nil)
  }

  /// All of the progressions, one after the other in a queue, and their results.
  @available(*, deprecated, message: "Use `try await Serial(progressions).run()` of Stepwise")
  public func serially(on queue: DispatchQueue) -> Deferred<[Element.Result]> {
    let performer = Performer(queue)
    return Serial.start(stages: Array(self), performer: { work in performer(work) }).deferred(performer, progress: nil)
  }
}
