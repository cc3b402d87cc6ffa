// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Steps that ask the user, and what follows each answer.
///
/// ```swift
/// let flow = Flow<Void>("profile flow", first: profile, content: user)
///   .on(profile) { action, step in
///     switch action {
///     case .edit: .next(editName, step.content.name)
///     case .download: .next(network)
///     }
///   }
///   .on(network) { newProfile, _ in
///     profile.content = newProfile
///     return .back
///   }
/// try await flow.run()
/// ```
///
/// A flow knows no screens: the same one runs under a user interface, in a terminal, and by a script of answers. `on`
/// returns a new flow and leaves the old one as it was, so that steps can be linked in another way, for a test of two
/// variants, without touching a screen.
///
/// A flow has one run at a time: ``current``, ``path``, ``answers`` and ``events`` are of the one in flight, or the last.
/// A further run meanwhile fails with ``FlowError/alreadyRunning``; make a second flow from the same steps for that.
///
/// Unless `on(_:ended:)` says otherwise, a step that ends as back has the step before asked again (from the first one the
/// flow ends as back), one that is abandoned or fails fails the flow, and one that is cancelled cancels it. A step without
/// `on` ends the flow: with its result, if that is of the flow's output type, and with nothing, if the output is `Void`.
@MainActor
public final class Flow<Output: Sendable> {
  /// What errors, events and pictures call the flow.
  public nonisolated let name: String

  let definition: FlowDefinition<Output>
  var course: FlowCourse<Output>?
  var recorder = FlowRecorder()
  /// Whether the recorder's run has begun.
  var isRecorderUsed = false
  var isRunning = false
  var taken = FlowEdges()

  /// Creates a flow.
  ///
  /// - Parameters:
  ///   - name: What errors, events and pictures call the flow.
  ///   - first: The step that is asked first.
  ///   - content: What it is asked with.
  ///   - log: Which answers are kept.
  public convenience init<Content, Result>(
    _ name: String,
    first: FlowStep<Content, Result>,
    content: Content,
    log: FlowLogging = .path
  ) {
    self.init(FlowDefinition(name: name, logging: log, first: first) { first.content = content })
  }

  /// Creates a flow whose first step has its content, or needs none.
  ///
  /// - Parameters:
  ///   - name: What errors, events and pictures call the flow.
  ///   - first: The step that is asked first.
  ///   - log: Which answers are kept.
  public convenience init<Content, Result>(
    _ name: String,
    first: FlowStep<Content, Result>,
    log: FlowLogging = .path
  ) {
    self.init(FlowDefinition(name: name, logging: log, first: first) {})
  }

  init(_ definition: FlowDefinition<Output>) {
    name = definition.name
    self.definition = definition
  }

  /// The step that is being asked; nil when the flow is not running.
  public var current: AnyFlowStep? { isRunning ? course?.path.top : nil }

  /// The steps that back leads through, the first one first, the current one last; empty when the flow is not running.
  public var path: [AnyFlowStep] { isRunning ? course?.path.steps ?? [] : [] }

  /// The answers of the run, also after its end: what ``replay(answers:)`` takes.
  ///
  /// When the run was cancelled or has failed, a replay asks again what was asked last; with `log: .all` it ends as the run
  /// did.
  public var answers: FlowLog { FlowLog(course?.path.answers ?? []) }

  /// The types of the answers, for decoding a ``FlowLog``; of the steps that the flow was given by name, and of those that
  /// its runs came through.
  public var answerTypes: FlowAnswerTypes {
    FlowAnswerTypes(byName: Dictionary(knownSteps.map { ($0.name, $0.answerType) }) { first, _ in first })
  }

  /// The steps that the definition names, and those that transitions have led to so far.
  var knownSteps: [AnyFlowStep] { definition.steps + taken.all.compactMap(\.to) }

  /// What happens in the run in flight, or in the next one, or, when there was one, in the last.
  public var events: FlowEvents { FlowEvents(recorder: recorder) }
}
