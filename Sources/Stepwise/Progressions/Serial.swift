// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Several progressions in a row, as one progression.
///
/// Each stage of each of them shows in its turn; the result has theirs, in order. The first error ends it, and the last stage
/// seen goes on from the progression that failed.
public enum Serial<P: Progression>: Progression {
  /// What the progressions resulted in, in order.
  public typealias Result = [P.Result]

  /// Nothing has begun.
  case start(stages: [P])

  /// One is at a stage, others have completed or have yet to begin.
  case running(remaining: [P], active: P, completedSoFar: [P.Result])

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
    case .start(let progressions): Self.after([], remaining: progressions)
    case .running(let remaining, let active, let completed):
      if let result = active.result {
        Self.after(completed + CollectionOfOne(result), remaining: remaining)
      } else {
        .running(remaining: remaining, active: try await active.next(), completedSoFar: completed)
      }
    case .completed: try self.completed()
    }
  }

  private static func after(_ results: [P.Result], remaining: [P]) -> Serial {
    guard let next = remaining.first else { return .completed(results) }
    return .running(remaining: Array(remaining.dropFirst()), active: next, completedSoFar: results)
  }
}

extension Serial: Equatable where P: Equatable, P.Result: Equatable {}
extension Serial: Hashable where P: Hashable, P.Result: Hashable {}
extension Serial: Codable where P: Codable, P.Result: Codable {}

extension Serial: WrappingStage {
  func isUnchanged(since previous: Serial) -> Bool? {
    guard case .running(let remaining, let active, let completed) = self,
      case .running(let remainingBefore, let activeBefore, let completedBefore) = previous,
      remaining.count == remainingBefore.count, completed.count == completedBefore.count
    else { return false }
    return areEqual(activeBefore, active)
  }
}
