// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One way through a flow: which step is asked next, given where the last one leads.
///
/// It asks nobody and waits for nothing, and runs nothing of the user's.
@MainActor
struct FlowCourse<Output> {
  enum Move {
    /// Ask the step at the path's end.
    case ask
    case finish(Output)
    /// The flow ends without an output; as back, when it has gone back from its first step.
    case end(FlowEnding)
  }

  struct Turn {
    let move: Move
    /// The steps that left the path, newest first.
    var left: [AnyFlowStep] = []
    /// Whether the step that is asked takes the place of the one that was.
    var isReplacement = false
  }

  private(set) var path: FlowPath<AnyFlowStep, FlowLogEntry>

  init(first: AnyFlowStep, _ logging: FlowLogging) {
    path = FlowPath(first: first, keepsAll: logging.keepsAll)
  }

  mutating func go(_ heading: FlowHeading<Output>, by entry: FlowLogEntry) -> Turn {
    switch heading {
    case .next(let next):
      return Turn(move: .ask, left: path.next(next, by: entry))
    case .replace(let next):
      let isReplacement = !path.contains(next)
      return Turn(move: .ask, left: path.replace(with: next, by: entry), isReplacement: isReplacement)
    case .back:
      let left = path.back(by: entry)
      return Turn(move: path.top == nil ? .end(.back) : .ask, left: left)
    case .finish(let output):
      path.finish(by: entry)
      return Turn(move: .finish(output))
    case .end(let ending):
      path.fail(by: entry)
      return Turn(move: .end(ending))
    }
  }

  /// What follows the answer has failed.
  mutating func fail(by entry: FlowLogEntry) { path.fail(by: entry) }
}
