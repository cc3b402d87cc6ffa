// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs several progressions one after the other, as one progression.
///
/// Its stages are the stages of each progression in turn. Its result holds their results, in order. The first error
/// ends the run; running the last stage again resumes at the progression that failed.
///
/// A checkpoint stores the whole state with each stage, so run many large progressions under an id each.
public enum Serial<P: Progression>: Progression {
  /// The results of the progressions, in order.
  public typealias Result = [P.Result]

  /// No progression has started.
  case start(stages: [P])

  /// One progression is at a stage; the others have completed or have not started.
  case running(remaining: ArraySlice<P>, active: P, completedSoFar: [P.Result])

  /// All have completed.
  case completed([P.Result])

  /// Creates a progression that runs others one after the other.
  public init(_ progressions: some Sequence<P>) {
    self = .start(stages: Array(progressions))
  }

  /// The results, when all progressions have completed.
  public var result: [P.Result]? {
    if case .completed(let results) = self { results } else { nil }
  }

  /// Starts the first progression, does the work of the active stage, or starts the following progression.
  @concurrent public func next() async throws -> Serial {
    switch self {
    case .start(let progressions): Self.after([], remaining: progressions[...])
    case .running(let remaining, let active, let completed):
      if let result = active.result {
        Self.after(completed + [result], remaining: remaining)
      } else {
        .running(remaining: remaining, active: try await active.next(), completedSoFar: completed)
      }
    case .completed: try self.completed()
    }
  }

  private static func after(_ results: [P.Result], remaining: ArraySlice<P>) -> Serial {
    guard let next = remaining.first else { return .completed(results) }
    return .running(remaining: remaining.dropFirst(), active: next, completedSoFar: results)
  }
}

extension Serial: Equatable where P: Equatable, P.Result: Equatable {}
extension Serial: Hashable where P: Hashable, P.Result: Hashable {}
