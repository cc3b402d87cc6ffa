// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

extension Flow {
  /// Runs the flow from its first step and waits for its completion.
  ///
  /// The run belongs to the task that awaits it.
  ///
  /// - Returns: The flow's output.
  /// - Throws: ``FlowError/back`` when the user goes back from the first step; ``FlowError/abandoned``; the error of a
  ///   step or of a transition; `CancellationError` when the run or a step was cancelled; another ``FlowError`` when
  ///   the flow could not continue.
  @discardableResult
  public func run() async throws -> Output { try await begin().run() }

  /// Runs the flow from another step and waits for its completion.
  ///
  /// Going back from that step ends the flow.
  ///
  /// The first step keeps the flow's content, in case a transition leads to it.
  ///
  /// - Parameters:
  ///   - step: The step to start with.
  ///   - content: The content to present it with.
  /// - Returns: The flow's output.
  /// - Throws: What ``run()`` throws.
  @discardableResult
  public func run<Content, Result>(
    startingAt step: FlowStep<Content, Result>,
    content: Content
  ) async throws -> Output {
    try await begin(startingAt: step) { step.content = content }.run()
  }

  /// Runs the flow from another step that has its content, or needs none, and waits for its completion.
  ///
  /// - Parameter step: The step to start with.
  /// - Returns: The flow's output.
  /// - Throws: What ``run()`` throws.
  @discardableResult
  public func run<Content, Result>(startingAt step: FlowStep<Content, Result>) async throws -> Output {
    try await begin(startingAt: step).run()
  }

  /// Runs the flow with the answers of a log, and presents steps once the log is used up.
  ///
  /// Steps that the log answers are not presented, but the rules that `on` set run as usual. When the log is used up,
  /// the steps on the path restore their screens through their navigators, so that going back leads through them.
  ///
  /// - Parameter answers: The answers, such as another run's ``answers``.
  /// - Returns: The flow's output.
  /// - Throws: ``FlowError/unknownStep``, ``FlowError/wrongStep`` and ``FlowError/wrongAnswer`` when the log does not
  ///   fit the flow; what ``run()`` throws.
  @discardableResult
  public func replay(answers: FlowLog) async throws -> Output {
    try await begin(in: FlowPresentationContext(replay: FlowReplay(answers))).run()
  }

  /// Starts an unstructured run from the first step.
  ///
  /// Releasing the returned handle does not cancel the run.
  ///
  /// - Returns: The handle, through which to cancel and await the run.
  @discardableResult
  public func start() -> Run<Output> { begin().start() }

  /// Starts an unstructured run from another step.
  ///
  /// - Parameters:
  ///   - step: The step to start with.
  ///   - content: The content to present it with.
  /// - Returns: The handle, through which to cancel and await the run.
  @discardableResult
  public func start<Content, Result>(startingAt step: FlowStep<Content, Result>, content: Content) -> Run<Output> {
    begin(startingAt: step) { step.content = content }.start()
  }

  /// Starts an unstructured run from another step that has its content, or needs none.
  ///
  /// - Parameter step: The step to start with.
  /// - Returns: The handle, through which to cancel and await the run.
  @discardableResult
  public func start<Content, Result>(startingAt step: FlowStep<Content, Result>) -> Run<Output> {
    begin(startingAt: step).start()
  }

  /// Starts an unstructured run with the answers of a log; see ``replay(answers:)``.
  ///
  /// - Parameter answers: The answers.
  /// - Returns: The handle, through which to cancel and await the run.
  @discardableResult
  public func start(replaying answers: FlowLog) -> Run<Output> {
    begin(in: FlowPresentationContext(replay: FlowReplay(answers))).start()
  }
}
