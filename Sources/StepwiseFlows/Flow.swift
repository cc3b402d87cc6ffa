// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Steps that interact with the user, and the transitions between them.
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
/// A flow does not depend on a user interface: the same flow runs with screens, in a terminal, and from a script of
/// answers. `on` returns a new flow and leaves the original unchanged, so that steps can be linked in another way, for
/// example for an A/B test, without changing a screen.
///
/// A flow has one run at a time. ``current``, ``path``, ``answers`` and ``events`` describe the run in flight, or the
/// last one. A second run meanwhile fails with ``FlowError/alreadyRunning``; to run concurrently, create a second flow
/// from the same steps.
///
/// Unless `on(_:ended:)` changes it, a step that the user leaves with back presents the previous step again; from the
/// first step, the flow ends as back. An abandoned or failed step fails the flow. A cancelled step cancels it. A step
/// without `on` finishes the flow: with its result if that has the type of the flow's output, and without one if the
/// output is `Void`.
@MainActor
public final class Flow<Output: Sendable> {
  /// The name of the flow in errors, events and diagrams.
  public nonisolated let name: String

  let definition: FlowDefinition
  /// The run in flight, or the last one, or the first one before it starts.
  private(set) var currentRun: FlowRun

  /// Creates a flow.
  ///
  /// - Parameters:
  ///   - name: The name of the flow in errors, events and diagrams.
  ///   - first: The step to present first.
  ///   - content: The content to present it with.
  ///   - log: Which answers the flow keeps.
  public convenience init<Content, Result>(
    _ name: String,
    first: FlowStep<Content, Result>,
    content: Content,
    log: FlowLogging = .path
  ) {
    self.init(FlowDefinition(name, log, first: first, output: Output.self) { first.content = content })
  }

  /// Creates a flow whose first step has its content, or needs none.
  ///
  /// - Parameters:
  ///   - name: The name of the flow in errors, events and diagrams.
  ///   - first: The step to present first.
  ///   - log: Which answers the flow keeps.
  public convenience init<Content, Result>(
    _ name: String,
    first: FlowStep<Content, Result>,
    log: FlowLogging = .path
  ) {
    self.init(FlowDefinition(name, log, first: first, output: Output.self) {})
  }

  init(_ definition: FlowDefinition) {
    name = definition.name
    self.definition = definition
    currentRun = FlowRun(definition)
  }

  /// The step that is being presented; nil when the flow is not running.
  public var current: AnyFlowStep? { currentRun.path.last }

  /// The steps that going back leads through, from the first one to the current one; empty when the flow is not
  /// running.
  public var path: [AnyFlowStep] { currentRun.path }

  /// The answers of the run, also after it has ended: what ``replay(answers:)`` takes.
  ///
  /// The answers that a nested flow has received are part of it. When the run was cancelled or has failed, a replay
  /// presents again what was presented last; with `log: .all` it ends as the run did.
  public var answers: FlowLog { currentRun.log }

  /// The types of the answers, for decoding a ``FlowLog``.
  ///
  /// Contains the steps that the flow names and those that its runs have presented.
  public var answerTypes: FlowAnswerTypes {
    FlowAnswerTypes(byName: Dictionary(currentRun.knownSteps.map { ($0.name, $0.resultType) }) { first, _ in first })
  }

  /// The events of the run in flight; of the last run when none is in flight; of the first run before it starts.
  public var events: FlowEvents { FlowEvents(recorder: currentRun.recorder) }

  // MARK: - Running

  /// Returns a run as a chain that has not started.
  func begin(
    startingAt step: AnyFlowStep? = nil,
    in context: FlowPresentationContext = FlowPresentationContext(),
    prepare: @escaping @MainActor () -> Void = {}
  ) -> Chain<Void, Output> {
    do {
      return try nextRun().begin(startingAt: step, in: context, prepare: prepare)
    } catch {
      return Chain(name) { throw error }
    }
  }

  /// Runs the flow as a step of another one.
  func present(in context: FlowPresentationContext) async -> FlowEnd {
    do {
      let run = try nextRun()
      context.nestedLog = { run.log }
      let chain: Chain<Void, Output> = run.begin(in: context)
      let outcome = try await chain.outcome(of: ())
      // The error alone is ambiguous: work inside the flow may throw one that looks like the flow's.
      if case .failed = outcome, let end = run.end { return end }
      return FlowEnd(outcome)
    } catch {
      return .ended(.failed(error))
    }
  }

  private func nextRun() throws(FlowError) -> FlowRun {
    if currentRun.isRunning { throw FlowError(.alreadyRunning, step: name) }
    if !currentRun.isReady { currentRun = FlowRun(definition, taken: currentRun.taken) }
    return currentRun
  }
}
