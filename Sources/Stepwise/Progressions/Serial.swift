// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Several progressions in a row, as one progression.
///
/// Its stages are those of each progression in turn, and its result has their results, in order. The first error ends it;
/// running the last stage received resumes at the progression that failed.
///
/// A stage takes constant time however many progressions there are. A checkpoint of one stores all of it with each stage:
/// run many large progressions under an id each.
public enum Serial<P: Progression>: Progression {
  /// What the progressions resulted in, in order.
  public typealias Result = [P.Result]

  /// Nothing has begun.
  case start(stages: [P])

  /// One is at a stage, others have completed or have yet to begin.
  case running(remaining: ArraySlice<P>, active: P, completedSoFar: SerialResults<P.Result>)

  /// All have completed.
  case completed([P.Result])

  /// Creates a progression that runs others in a row.
  public init(_ progressions: some Sequence<P>) {
    self = .start(stages: Array(progressions))
  }

  /// The results, when all have completed.
  public var result: [P.Result]? {
    if case .completed(let results) = self { results } else { nil }
  }

  /// Begins the first progression, does the work of the active one's stage, or goes on to the one after it.
  @concurrent public func next() async throws -> Serial {
    switch self {
    case .start(let progressions): Self.after([], remaining: progressions[...])
    case .running(let remaining, let active, let completed):
      if let result = active.result {
        Self.after(completed.appending(result), remaining: remaining)
      } else {
        .running(remaining: remaining, active: try await active.next(), completedSoFar: completed)
      }
    case .completed: try self.completed()
    }
  }

  private static func after(_ results: SerialResults<P.Result>, remaining: ArraySlice<P>) -> Serial {
    guard let next = remaining.first else { return .completed(results.array) }
    return .running(remaining: remaining.dropFirst(), active: next, completedSoFar: results)
  }
}

extension Serial: Equatable where P: Equatable, P.Result: Equatable {}
extension Serial: Hashable where P: Hashable, P.Result: Hashable {}

extension Serial: WrappingStage {
  func isUnchanged(since previous: Serial) -> Bool? {
    guard case .running(let remaining, let active, let completed) = self,
      case .running(let remainingBefore, let activeBefore, let completedBefore) = previous,
      remaining.count == remainingBefore.count, completed.count == completedBefore.count
    else { return false }
    return areEqual(activeBefore, active)
  }
}
