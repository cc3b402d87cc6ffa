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
  public func run() async throws -> Output { try await begin(FlowStart()).run() }

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
    try await begin(FlowStart(step: step) { step.content = content }).run()
  }

  /// Runs the flow from another step that has its content, or needs none, and waits for its end.
  ///
  /// - Parameter step: The step to begin with.
  /// - Returns: The flow's output.
  /// - Throws: What ``run()`` throws.
  @discardableResult
  public func run<Content, Result>(startingAt step: FlowStep<Content, Result>) async throws -> Output {
    try await begin(FlowStart(step: step) {}).run()
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
  public func replay(answers: FlowLog) async throws -> Output { try await begin(FlowStart(answers: answers)).run() }

  /// Begins a run that lives by itself, from the first step.
  ///
  /// Letting the returned handle go cancels nothing.
  ///
  /// - Returns: The handle, to cancel the run and to wait for it.
  @discardableResult
  public func start() -> Run<Output> { begin(FlowStart()).start() }

  /// Begins a run that lives by itself, from another step.
  ///
  /// - Parameters:
  ///   - step: The step to begin with.
  ///   - content: What it is asked with.
  /// - Returns: The handle, to cancel the run and to wait for it.
  @discardableResult
  public func start<Content, Result>(startingAt step: FlowStep<Content, Result>, content: Content) -> Run<Output> {
    begin(FlowStart(step: step) { step.content = content }).start()
  }

  /// Begins a run that lives by itself, from another step that has its content, or needs none.
  ///
  /// - Parameter step: The step to begin with.
  /// - Returns: The handle, to cancel the run and to wait for it.
  @discardableResult
  public func start<Content, Result>(startingAt step: FlowStep<Content, Result>) -> Run<Output> {
    begin(FlowStart(step: step) {}).start()
  }

  /// Begins a run that lives by itself, and that takes answers from a log as long as there are any; see ``replay(answers:)``.
  ///
  /// - Parameter answers: The answers.
  /// - Returns: The handle, to cancel the run and to wait for it.
  @discardableResult
  public func start(replaying answers: FlowLog) -> Run<Output> { begin(FlowStart(answers: answers)).start() }

  // MARK: - As a chain

  func begin(_ start: FlowStart) -> Chain<Void, Output> { chain(of: reserve(start)) }

  /// Reserves the flow for one run; nil when it is running.
  private func reserve(_ start: FlowStart) -> FlowEngine<Output>? {
    guard !isRunning else { return nil }
    isRunning = true
    if isRecorderUsed { recorder = FlowRecorder() }
    isRecorderUsed = true
    course = FlowCourse(first: start.step ?? definition.first, definition.logging)
    return FlowEngine(self, start)
  }

  /// Makes the chain that one run is.
  private func chain(of engine: FlowEngine<Output>?) -> Chain<Void, Output> {
    guard let engine else {
      let error = FlowError(.alreadyRunning, step: name)
      return Chain(name) { throw error }
    }
    let chain = Chain<Void, Output>(name) { @MainActor in try await engine.perform() }
      .finally { @MainActor state in engine.end(state) }
    // Taken, so that a step can cancel the run, and so that the run is interrupted at once by whoever cancels it.
    engine.token = chain.cancellationToken
    return chain
  }

  /// A run as a step of another flow.
  func askedAsStep() async -> FlowAskEnd<Output> {
    let engine = reserve(FlowStart())
    do {
      let conclusion: Conclusion = try await chain(of: engine).core.runApart(outer: nil) { $0.put(()) }
      // An error tells by itself nothing of that: work inside the flow may fail with one that looks alike.
      if case .failed = conclusion.outcome, let ending = engine?.ending { return .ended(ending) }
      return FlowAskEnd(conclusion.outcome.map { $0.value() })
    } catch {
      return .ended(.failed(error))
    }
  }
}

/// Where a run begins.
@MainActor
struct FlowStart {
  var step: AnyFlowStep?
  var prepare: (@MainActor () -> Void)?
  var answers: FlowLog = []

  init(answers: FlowLog = []) {
    self.answers = answers
  }

  init(step: AnyFlowStep, prepare: @escaping @MainActor () -> Void) {
    self.step = step
    self.prepare = prepare
  }
}
