// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Flow {
  /// Runs the flow from its first step, and waits for its end.
  ///
  /// The run belongs to the Task that awaits it.
  ///
  /// - Returns: The flow's output.
  /// - Throws: ``FlowError/back`` when the user goes back from the first step; ``FlowError/abandoned``; the error that a step
  ///   or a transition failed with; `CancellationError` when the run, or a step, was cancelled; ``FlowError`` for what could
  ///   not go on.
  @discardableResult
  public func run() async throws -> Output { try await begin().run() }

  /// Runs the flow from another step, and waits for its end; back from there ends the flow as back.
  ///
  /// The first step has the flow's content all the same, should a transition lead there.
  ///
  /// - Parameters:
  ///   - step: The step to begin with.
  ///   - content: What it is asked with.
  /// - Returns: The flow's output.
  /// - Throws: What ``run()`` throws.
  @discardableResult
  public func run<Content, Result>(
    startingAt step: FlowStep<Content, Result>,
    content: Content
  ) async throws -> Output {
    try await begin(FlowStart(step: step, prepare: { step.content = content })).run()
  }

  /// Runs the flow from another step that has its content, or needs none, and waits for its end.
  ///
  /// - Parameter step: The step to begin with.
  /// - Returns: The flow's output.
  /// - Throws: What ``run()`` throws.
  @discardableResult
  public func run<Content, Result>(startingAt step: FlowStep<Content, Result>) async throws -> Output {
    try await begin(FlowStart(step: step)).run()
  }

  /// Takes answers from a log as long as there are any, then asks; waits for the flow's end.
  ///
  /// Nothing is shown for the answers of the log, but what says where each leads is run as ever. When they are used up,
  /// steps on the path that have a navigator have it show their screens, so that back leads through them.
  ///
  /// - Parameter answers: The answers, such as another run's ``answers``.
  /// - Returns: The flow's output.
  /// - Throws: ``FlowError/unknownStep``, ``FlowError/wrongStep`` and ``FlowError/wrongAnswer`` when the log does not fit the
  ///   flow; what ``run()`` throws.
  @discardableResult
  public func replay(answers: FlowLog) async throws -> Output {
    try await begin(FlowStart(replay: FlowReplay(answers))).run()
  }

  /// Begins a run that lives by itself, from the first step.
  ///
  /// Letting the returned handle go cancels nothing.
  ///
  /// - Returns: The handle, to cancel the run and to wait for it.
  @discardableResult
  public func start() -> Run<Output> { begin().start() }

  /// Begins a run that lives by itself, from another step.
  ///
  /// - Parameters:
  ///   - step: The step to begin with.
  ///   - content: What it is asked with.
  /// - Returns: The handle, to cancel the run and to wait for it.
  @discardableResult
  public func start<Content, Result>(startingAt step: FlowStep<Content, Result>, content: Content) -> Run<Output> {
    begin(FlowStart(step: step, prepare: { step.content = content })).start()
  }

  /// Begins a run that lives by itself, from another step that has its content, or needs none.
  ///
  /// - Parameter step: The step to begin with.
  /// - Returns: The handle, to cancel the run and to wait for it.
  @discardableResult
  public func start<Content, Result>(startingAt step: FlowStep<Content, Result>) -> Run<Output> {
    begin(FlowStart(step: step)).start()
  }

  /// Begins a run that lives by itself, and that takes answers from a log as long as there are any; see ``replay(answers:)``.
  ///
  /// - Parameter answers: The answers.
  /// - Returns: The handle, to cancel the run and to wait for it.
  @discardableResult
  public func start(replaying answers: FlowLog) -> Run<Output> { begin(FlowStart(replay: FlowReplay(answers))).start() }
}
