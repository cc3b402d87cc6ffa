// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise
public import StepwiseTracing

/// Leads the user through several screens: the steps, and what follows each result.
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
/// answers. `on` returns a new flow and leaves the original unchanged: you can link the steps in another way, for
/// example for an A/B test, without changing a screen.
///
/// A flow has one run at a time. ``current``, ``path``, ``answers`` and ``events`` describe the run in flight, or the
/// last one. A second run fails with ``FlowError/alreadyRunning``; to run concurrently, create a second flow from the
/// same steps. When the run in flight is cancelled or about to end, a new one waits for its end and then begins.
///
/// The flow follows the user: it goes back over as many screens as the user has left at once, or as ``back(to:)`` says.
/// Work in flight is cancelled first.
///
/// Unless `on(_:ended:)` changes it, a step that the user leaves with back presents the previous step with a screen
/// again; from the first step, the flow ends as back. An abandoned or failed step fails the flow. A cancelled step cancels it. A step
/// without `on` finishes the flow: with its result if that has the type of the flow's output, and without one if the
/// output is `Void`.
@MainActor
public final class Flow<Output: Sendable> {
  /// The name of the flow in errors, events and diagrams.
  public nonisolated let name: String

  package let definition: FlowDefinition
  /// The run in flight, or the last one, or the first one before it starts.
  private(set) var currentRun: FlowRun

  /// Creates a flow whose first step is presented with a content, and whose log has the answers that `log` selects.
  public convenience init<Content, Result>(
    _ name: String,
    first: FlowStep<Content, Result>,
    content: Content,
    log: FlowLogging = .path
  ) {
    self.init(FlowDefinition(name, log, first: first, output: Output.self) { first.content = content })
  }

  /// Creates a flow whose first step has its content, or needs none.
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

  /// The steps that going back leads through, from the first to the current one; empty when the flow is not running.
  public var path: [AnyFlowStep] { currentRun.path }

  /// The answers of the run, also after it has ended: what ``replay(answers:)`` takes.
  ///
  /// It includes those of nested flows. A replay of a run that was cancelled or has failed presents again what was
  /// presented last; with `log: .all` it ends as the run did.
  public var answers: FlowLog { currentRun.log }

  /// The events of the run in flight; of the last run when none is in flight; of the first run before it starts.
  ///
  /// A late subscriber receives the latest state of each step first. A slow one misses superseded events, but never the
  /// last. The sequence ends after `.ended`, or when the iterating task is cancelled.
  public var events: some AsyncSequence<FlowEvent, Never> & Sendable { currentRun.events }

  /// Returns a run as a chain that has not started.
  func begin(
    startingAt step: AnyFlowStep? = nil,
    in context: FlowPresentationContext = FlowPresentationContext(),
    prepare: @escaping @MainActor () -> Void = {}
  ) -> Chain<Void, Output> {
    do {
      return try nextRun().begin(startingAt: step, in: context, prepare: prepare)
    } catch {
      // A run that has not begun cannot be seen to be cancelled.
      guard let unbegun = currentRun.unbegun else { return Chain(name) { throw error } }
      return Chain(name) { @MainActor in
        _ = await unbegun.value()
        return try await self.begin(startingAt: step, in: context, prepare: prepare).run()
      }
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
    if currentRun.isRunning, !currentRun.isEnding { throw FlowError(.alreadyRunning, step: name) }
    if !currentRun.isReady { currentRun = FlowRun(definition, after: currentRun) }
    return currentRun
  }
}

// MARK: - Linking

extension Flow {
  /// Sets what follows the result of a step; replaces an earlier rule for the step.
  ///
  /// `targets`, the steps that may follow, are for diagrams and `FlowExplorer`. An error of `route` fails the flow.
  public func on<Content, Result>(
    _ step: FlowStep<Content, Result>,
    leadsTo targets: [AnyFlowStep] = [],
    _ route: @escaping @MainActor (Result, FlowPresentedStep<Content, Result>) throws -> FlowTransition<Output>
  ) -> Flow {
    var definition = definition
    definition[step].targets = targets
    definition[step].onAnswer = { box in
      guard let result = (box as? Box<Result>)?.value else { throw FlowError(.wrongAnswer, step: step.name) }
      guard let presented = FlowPresentedStep(step) else { throw FlowError(.noContent, step: step.name) }
      return try route(result, presented).move
    }
    return Flow(definition)
  }

  /// Sets what follows when a step ends without a result.
  ///
  /// `route` returns nil for the default behaviour. An error that it throws fails the flow.
  public func on<Content, Result>(
    _ step: FlowStep<Content, Result>,
    ended route: @escaping @MainActor (FlowEnding, FlowPresentedStep<Content, Result>) throws -> FlowTransition<Output>?
  ) -> Flow {
    var definition = definition
    definition[step].onEnding = { ending in
      guard let presented = FlowPresentedStep(step) else { return nil }
      return try route(ending, presented)?.move
    }
    return Flow(definition)
  }
}

/// The presented step, as a rule of `on` receives it: its name and its content.
///
/// Read its content in your rule to decide what follows.
@MainActor
public struct FlowPresentedStep<Content, Result: Sendable> {
  /// The step itself.
  public let step: FlowStep<Content, Result>

  private let latest: Content

  init?(_ step: FlowStep<Content, Result>) {
    guard let content = step.knownContent else { return nil }
    self.step = step
    latest = content
  }

  /// The step's name.
  public var name: String { step.name }

  /// The current content of the step; setting it notifies the screens that show it.
  public var content: Content {
    get { step.content ?? latest }
    nonmutating set { step.content = newValue }
  }
}

// MARK: - Running

extension Flow {
  /// Runs the flow from its first step and waits for its completion.
  ///
  /// The run belongs to the task that awaits it.
  ///
  /// - Throws: ``FlowError/back`` when the user goes back from the first step; ``FlowError/abandoned``; the error of a
  ///   step or of a transition; `CancellationError` when the run or a step was cancelled; another ``FlowError`` when
  ///   the flow could not continue.
  @discardableResult
  public func run() async throws -> Output { try await begin().run() }

  /// Runs the flow from another step and waits for its completion.
  ///
  /// Going back from that step ends the flow. The first step keeps the flow's content, in case a transition leads to it.
  ///
  /// - Throws: What ``run()`` throws.
  @discardableResult
  public func run<Content, Result>(
    startingAt step: FlowStep<Content, Result>,
    content: Content
  ) async throws -> Output {
    try await begin(startingAt: step) { step.content = content }.run()
  }

  /// Runs the flow from another step that has its content, or needs none, and waits for its completion.
  @discardableResult
  public func run<Content, Result>(startingAt step: FlowStep<Content, Result>) async throws -> Output {
    try await begin(startingAt: step).run()
  }

  /// Runs the flow with the answers of a log, and presents steps once the log is used up.
  ///
  /// Steps that the log answers are not presented, but the rules that `on` set run as usual. When the log is used up,
  /// the steps on the path restore their screens through their navigators, and going back leads through them.
  ///
  /// - Throws: ``FlowError/unknownStep``, ``FlowError/wrongStep`` and ``FlowError/wrongAnswer`` when the log does not
  ///   fit the flow; what ``run()`` throws.
  @discardableResult
  public func replay(answers: FlowLog) async throws -> Output {
    try await begin(in: FlowPresentationContext(replay: FlowReplay(answers))).run()
  }

  /// Starts an unstructured run from the first step; releasing the returned handle does not cancel it.
  @discardableResult
  public func start() -> Run<Output> { begin().start() }

  /// Starts an unstructured run with the answers of a log, as ``replay(answers:)`` does.
  @discardableResult
  public func start(replaying answers: FlowLog) -> Run<Output> {
    begin(in: FlowPresentationContext(replay: FlowReplay(answers))).start()
  }
}

// MARK: - Going back

extension Flow {
  /// Goes back to a step on the path, as if the user had gone back over the screens above it.
  ///
  /// What runs above it is cancelled, and no step between is presented. The screens are gone when ``current`` is the
  /// step, which is later than this method returns. A rule of `on(_:ended:)` on the way may lead elsewhere.
  ///
  /// - Returns: A Boolean value that indicates whether the step is on the path, also as the current one; false when the
  ///   flow is not running or is cancelled.
  @discardableResult
  public func back(to step: AnyFlowStep) -> Bool { currentRun.goBack(to: step) }

  /// Goes back to the first step, as ``back(to:)`` does.
  @discardableResult
  public func backToFirst() -> Bool { path.first.map(back) ?? false }
}

// MARK: - Settings

extension Flow {
  /// Saves the answers after each answer, and each other change of the path, before the next step is presented.
  ///
  /// Use it so that your user loses no answer when the app is killed: pass the stored log to ``replay(answers:)``.
  ///
  /// ```swift
  /// let saved = flow.saving { log in try await store(JSONEncoder().encode(log)) }
  /// ```
  ///
  /// The flow waits for `save`, and its error fails the flow. A replay does not save. Neither does the end of the flow:
  /// remove the file when the run has ended. In a nested flow, the enclosing flow saves first, with its own log.
  ///
  /// - Returns: A new flow.
  public func saving(_ save: @escaping @MainActor (FlowLog) async throws -> Void) -> Flow {
    var definition = definition
    definition.save = save
    return Flow(definition)
  }

  /// Sets how long the flow waits for a navigator that dismisses a screen: 10 seconds, unless you set it.
  ///
  /// After that, the flow continues, and an event with ``FlowError/overdue`` names the screen. Debug builds report it on
  /// standard error, too. A nested flow without a limit has that of the enclosing flow.
  ///
  /// - Returns: A new flow.
  public func dismissLimit(_ duration: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Flow {
    var definition = definition
    definition.limit = FlowDismissalLimit(duration: duration, clock: clock)
    return Flow(definition)
  }
}

// MARK: - Drawing

extension Flow {
  /// Returns a diagram of the flow: the transitions that `leadsTo` declares, and, dashed, those that its runs took.
  public func describe(_ format: DiagramFormat = .text) -> String {
    format.text(of: Diagram(definition, taken: currentRun.taken))
  }
}

extension Diagram {
  /// Creates the diagram of a flow.
  @MainActor
  fileprivate init(_ definition: FlowDefinition, taken: [FlowTurn]) {
    self.init(isSequence: false)
    let declared = definition.steps.flatMap { step in
      let link = definition[step]
      let turns = link.targets.map { FlowTurn(from: step, to: $0) }
      return link.onAnswer == nil ? turns + [FlowTurn(from: step, to: nil)] : turns
    }
    let turns = declared + taken
    let steps = definition.steps + turns.flatMap { [$0.from, $0.to].compactMap(\.self) }
    var nodes: [AnyFlowStep?: Int] = [:]
    for step in steps where nodes[step] == nil { nodes[step] = add(step.name) }
    if turns.contains(where: { $0.to == nil }) { nodes[nil as AnyFlowStep?] = add("end", .end) }
    for (index, turn) in turns.enumerated() {
      guard let from = nodes[turn.from], let to = nodes[turn.to] else { continue }
      add(Edge(from: from, to: to, isDashed: index >= declared.count))
    }
  }
}
