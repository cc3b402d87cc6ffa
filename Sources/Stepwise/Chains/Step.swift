// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A step to reuse in several chains, or to retry or limit alone: a closure with a name and modifiers.
///
/// ```swift
/// let shrink = Step("shrink") { (image: Image) in image.scaled(by: 0.5) }.timeout(.seconds(5))
/// let chain = load.appending(shrink)
/// ```
public struct Step<Input: Sendable, Output: Sendable>: Sendable {
  package let name: String?

  @usableFromInline typealias Undo = @Sendable (Output) async throws -> Void

  /// Undoes the step when the run of a chain that contains it fails or is cancelled afterwards.
  var undo: Undo?
  let body: @Sendable (Input, ChainStep) async throws -> Output

  var kind: Node.Kind {
    .step(name, undo: undo) { frame in
      frame.slot.put(try await body(frame.slot.take(), ChainStep(index: frame.stepIndex, name: name)))
    }
  }
}

extension Step {
  /// Creates a step.
  public init(_ body: @escaping @Sendable (Input) async throws -> Output) {
    self.init(name: nil) { input, _ in try await body(input) }
  }

  /// Creates a step with a name, which can be undone.
  ///
  /// When a later step of the chain fails, or the run is cancelled, the completed steps are undone, newest first. The
  /// undo is shielded from cancellation and may suspend. Modifiers of the step apply to its body alone.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors and diagrams.
  ///   - undo: Undoes the step; receives its output.
  ///   - body: Receives the output of the previous step. An error that it throws ends the run.
  public init(
    _ name: String? = nil,
    undo: (@Sendable (Output) async throws -> Void)? = nil,
    _ body: @escaping @Sendable (Input) async throws -> Output
  ) {
    self.init(name: name, undo: undo) { input, _ in try await body(input) }
  }
}

extension Step {
  /// Limits the duration of the step.
  ///
  /// When the time is up, the step is cancelled and awaited, and ``TimeoutError`` is thrown. If the step
  /// still returns a value, that is its output. A step that ignores cancellation blocks the chain: append it as a chain with
  /// ``Chain/abandon(after:clock:discarding:)``.
  ///
  /// - Parameters:
  ///   - duration: The time limit.
  ///   - clock: The clock that measures the time.
  /// - Returns: A new step; this one is unchanged.
  public func timeout(_ duration: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Step {
    Step(name: name, undo: undo) { input, step in
      try await Self.makeAttempts {
        let limit = TimeLimit(duration: duration, clock: clock, by: Scope.currentJournal)
        return try await limited(to: limit) {
          step.description
        } operation: {
          try await body(input, step)
        }
      }
    }
  }

  /// Retries the step when it fails.
  ///
  /// An attempt that fails undoes the steps inside it that it has completed. Cancellation is never retried, and ends the
  /// delay between attempts immediately.
  ///
  /// - Parameters:
  ///   - policy: The number of attempts and the delay between them.
  ///   - isRetryable: Returns whether to retry after an error; by default every error is retried.
  ///   - clock: The clock that measures the delays.
  /// - Returns: A new step; this one is unchanged. When all attempts fail, it throws the error of the last one.
  public func retry(
    _ policy: RetryPolicy,
    if isRetryable: @escaping @Sendable (any Error) async -> Bool = { _ in true },
    clock: any Clock<Duration> = ContinuousClock()
  ) -> Step {
    Step(name: name, undo: undo) { input, step in
      try await Self.makeAttempts(policy, clock, if: isRetryable) { try await body(input, step) }
    }
  }

  /// Makes attempts at the body of the current step.
  static func makeAttempts(
    _ policy: RetryPolicy = RetryPolicy(maxAttempts: 1, backoff: .none),
    _ clock: any Clock<Duration> = ContinuousClock(),
    if isRetryable: (any Error) async -> Bool = { _ in true },
    body: () async throws -> Output
  ) async throws -> Output {
    let scope = Scope.current
    let (run, recordedStep) = (scope.innermostRun, scope.recordedStep)
    return try await Stepwise.makeAttempts(
      policy,
      clock,
      if: isRetryable,
      of: run,
      in: scope.attempt,
      recording: run?.recording
    ) { number, error in
      recordedStep?.retrying(attempt: number, after: error)
    } body: { attempt in
      try await Scope.$current.bind(scope.with(attempt, recordedStep: recordedStep), body)
    }
  }
}

extension Step {
  /// Creates a step whose output is delivered through a callback.
  ///
  /// The body starts the work and passes the resolver to the callback. When the run is cancelled, the step ends as soon
  /// as the resolver's `onCancel` handlers have returned, even if the callback is never called. The body may be async;
  /// until it returns, it observes cancellation only through its task.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors and diagrams.
  ///   - file: The file to name in errors.
  ///   - line: The line to name in errors.
  ///   - body: Starts the work. An error that it throws is the step's error.
  /// - Returns: The step.
  public static func callback(
    _ name: String? = nil,
    file: String = #fileID,
    line: UInt = #line,
    _ body: @escaping @Sendable (Input, Resolver<Output>) async throws -> Void
  ) -> Step {
    Step(name: name) { input, _ in
      try await withResolver(file: file, line: line) { resolver in try await body(input, resolver) }
    }
  }
}

// MARK: - Segments

/// A reusable piece of a chain, for ``Chain/appending(_:)``: a ``Step``, another ``Chain``, or a type you write.
///
/// Write a type to reuse a group of steps with parameters:
///
/// ```swift
/// struct Decoded<Value: Decodable & Sendable>: ChainSegment {
///   let maxAttempts: Int
///
///   func appended<Start: Sendable>(to chain: Chain<Start, URL>) -> Chain<Start, Value> {
///     chain
///       .then("fetch") { url in try await fetch(url) }
///       .then("decode") { data in try JSONDecoder().decode(Value.self, from: data) }
///       .retry(RetryPolicy(maxAttempts: maxAttempts, backoff: .none))
///   }
/// }
/// ```
public protocol ChainSegment<Input, Output>: Sendable {
  /// The output of the previous step.
  associatedtype Input: Sendable

  /// The output of the chain that ends with this segment.
  associatedtype Output: Sendable

  /// Returns a chain that begins with the steps of another one and ends with this segment.
  func appended<Start: Sendable>(to chain: Chain<Start, Input>) -> Chain<Start, Output>
}

extension Chain {
  /// Appends a step, another chain, or another segment.
  ///
  /// An appended chain keeps its own handlers, policy and token, which apply to its own steps. Its handlers run first;
  /// the handlers of this chain cover the whole. Once the appended chain has completed, its undos belong to the run of
  /// the whole.
  public nonisolated func appending<Segment: ChainSegment>(_ segment: Segment) -> Chain<Input, Segment.Output>
  where Segment.Input == Output {
    segment.appended(to: self)
  }
}

extension Step: ChainSegment {
  /// Returns a chain that begins with the steps of another one and ends with this step.
  public func appended<Start: Sendable>(to chain: Chain<Start, Input>) -> Chain<Start, Output> {
    Chain<Start, Output>(chain.path.appending(step: kind))
  }
}

extension Chain: ChainSegment {
  /// Returns a chain that begins with the steps of another one and ends with this chain, as one step.
  public nonisolated func appended<Start: Sendable>(to chain: Chain<Start, Input>) -> Chain<Start, Output> {
    let nested = NestedChains([core])
    let code: StepCode = { frame in
      let branch = frame.fork(into: nested, .chain)
      await frame.adopt(try await nested.cores[0].run(&frame.slot, as: branch))
    }
    return Chain<Start, Output>(chain.path.appending(.chains(nested, how: "then", code)))
  }
}
