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
  /// The run in flight, or the last one, or the next one.
  private(set) var latest: FlowRun<Output>

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
    latest = FlowRun(definition)
  }

  /// The step that is being presented; nil when the flow is not running.
  public var current: AnyFlowStep? { latest.path.last }

  /// The steps that back leads through, the first one first, the current one last; empty when the flow is not running.
  public var path: [AnyFlowStep] { latest.path }

  /// The answers of the run, also after it has ended: what ``replay(answers:)`` takes.
  ///
  /// The answers that a nested flow has received are part of it. When the run was cancelled or has failed, a replay presents
  /// again what was presented last; with `log: .all` it ends as the run did.
  public var answers: FlowLog { latest.log }

  /// The types of the answers, for decoding a ``FlowLog``; of the steps that the flow was given by name, and of those that
  /// its runs came through.
  public var answerTypes: FlowAnswerTypes {
    FlowAnswerTypes(byName: Dictionary(latest.knownSteps.map { ($0.name, $0.answerType) }) { first, _ in first })
  }

  /// What happens in the run in flight, or in the next one, or, when there was one, in the last.
  public var events: FlowEvents { FlowEvents(recorder: latest.recorder) }

  // MARK: - Running

  func begin(_ start: FlowStart = FlowStart()) -> Chain<Void, Output> {
    do {
      return try nextRun().begin(start)
    } catch {
      return Chain(name) { throw error }
    }
  }

  private func nextRun() throws(FlowError) -> FlowRun<Output> {
    if latest.isRunning { throw FlowError(.alreadyRunning, step: name) }
    if !latest.isReady { latest = FlowRun(definition, taken: latest.taken) }
    return latest
  }
}

/// A flow without its output's type, as the step that it is has it.
@MainActor
protocol AnyFlow: AnyObject {
  /// Runs the flow as a step of another one.
  func present(in context: FlowPresentationContext) async -> FlowEnd

  /// Begins a walk through the flow.
  func enter() throws -> any FlowLevel
}

extension Flow: AnyFlow {
  func present(in context: FlowPresentationContext) async -> FlowEnd {
    do {
      return try await nextRun().runAsStep(FlowStart(replay: context.replay, context: context))
    } catch {
      return .ended(.failed(error))
    }
  }

  func enter() throws -> any FlowLevel {
    try definition.prepare()
    return FlowCourse(definition)
  }
}
