// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Work in stages that you can show, store and resume from; usually an enum.
///
/// ```swift
/// enum FileOpen: Progression {
///   case read(URL), parse(Data), success(Document)
///
///   func next() async throws -> FileOpen {
///     switch self {
///     case .read(let url): .parse(try Data(contentsOf: url))
///     case .parse(let data): .success(try Document(data))
///     case .success: try completed()
///     }
///   }
///
///   var result: Document? {
///     if case .success(let document) = self { document } else { nil }
///   }
/// }
/// ```
///
/// Store everything that later stages need in the stage; you can then save it and resume from it.
public nonisolated protocol Progression<Result>: Sendable {
  /// The type of the result that the last stage holds.
  ///
  /// Inside a progression this name hides Swift's own `Result`: write `Swift.Result` there.
  associatedtype Result: Sendable

  /// Does the work of this stage.
  ///
  /// This method runs off the caller's actor. It is not called for a stage that has a result.
  ///
  /// - Returns: The next stage.
  /// - Throws: An error that ends the run at this stage. The last stage throws what ``completed()`` throws.
  @concurrent func next() async throws -> Self

  /// The result, which marks a stage as the last one; nil for every other stage.
  var result: Result? { get }
}

extension Progression {
  /// Throws the error for a call of `next()` on the last stage.
  ///
  /// - Returns: Never; the return type fits the `next()` that calls it.
  /// - Throws: An error that names the stage.
  public func completed() throws -> Self {
    throw CompletedError(stage: String(describing: self))
  }
}

/// An error of the program: `next()` was called on the last stage.
package struct CompletedError: Error, CustomStringConvertible {
  let stage: String

  package var description: String {
    "\(stage) is the last stage of its progression; read its `result` instead of calling `next()`"
  }
}

extension Progression {
  /// The stages from this one to the last; see ``Stages``.
  @inlinable
  public nonisolated var stages: Stages<Self> { Stages(first: self) }

  /// Runs the stages from this one to the last and returns the result.
  ///
  /// The run belongs to the task that awaits it. The stages run off the caller's actor. When the task is cancelled, no
  /// further stage starts. A stage that has a result returns it immediately.
  ///
  /// - Returns: The result of the last stage, even when the task was cancelled while that stage was being produced.
  /// - Throws: The error of a stage; `CancellationError` when the task was cancelled before a stage.
  @concurrent @inlinable
  public nonisolated func run() async throws -> Result {
    var stage = self
    while true {
      if let result = stage.result { return result }
      if Task.isCancelled { throw CancellationError() }
      stage = try await stage.next()
    }
  }
}

extension Progression {
  /// Starts an unstructured run.
  ///
  /// The run behaves like that of ``Chain/start(_:cancelledBy:completion:)``. Its events report the stages as
  /// `stageReached`.
  @discardableResult
  public nonisolated func start() -> Run<Result> { start(priority: nil) }

  /// Starts an unstructured run and calls a closure when the run completes.
  ///
  /// The completion runs off the caller's actor, unless the closure is isolated: `stage.execute { @MainActor useResult
  /// in … }`.
  ///
  /// - Parameters:
  ///   - priority: The priority of the stages and of the completion.
  ///   - completion: Called exactly once with a function that returns the result or throws the error of the run. For a
  ///     cancelled run that is `CancellationError`.
  /// - Returns: The handle, through which to cancel, await and observe the run.
  @discardableResult
  public nonisolated func execute(
    priority: TaskPriority = .utility,
    _ completion:
      @escaping @Sendable (
        _ useResult: @escaping @Sendable () throws -> Result
      ) async -> Void
  ) -> Run<Result> {
    let run = start(priority: priority)
    run.call(priority: priority) { result in await completion { try result.get() } }
    return run
  }

  private nonisolated func start(priority: TaskPriority?) -> Run<Result> {
    var path = Path(.step(nil, undo: nil as Step<Void, Result>.Undo?, Chain<Void, Result>.code(running: { _ in self })))
    path.identity.isProgression = true
    return Run(ChainCore(path).start(ValueSlot(()), priority: priority))
  }
}

/// The stages of a progression, as an asynchronous sequence that starts with the first stage.
///
/// ```swift
/// for try await stage in FileOpen.read(url).stages { show(stage) }
/// ```
///
/// The run never gets ahead of the consumer: requesting an element does the work of the stage before it, off the
/// caller's actor. Leaving the loop stops the progression. To resume it, call ``Progression/run()`` or `stages` on the
/// last stage received. The sequence ends after the stage that has a result. It throws the error of a stage and ends
/// then. When the iterating task is cancelled, it throws `CancellationError` instead of starting the work of a stage.
///
/// Each iterator starts at the first stage and repeats the work. Use ``shared(_:)`` to iterate one run several times.
public struct Stages<P: Progression>: AsyncSequence, Sendable {
  @usableFromInline let first: P

  @usableFromInline
  init(first: P) {
    self.first = first
  }

  /// Creates an iterator that starts at the first stage.
  @inlinable
  public func makeAsyncIterator() -> Iterator { Iterator(first) }

  /// An iterator over the stages for one consumer.
  public struct Iterator: AsyncIteratorProtocol {
    /// The stage returned last, or the first one; nil while its work runs, and after the end.
    @usableFromInline var stage: P?
    @usableFromInline var isBegun = false

    @usableFromInline
    init(_ first: P) {
      stage = first
    }

    /// Does the work of the stage returned last, off the isolation of the calling actor.
    ///
    /// - Returns: The next stage; nil after the stage with a result.
    /// - Throws: The error of the stage; `CancellationError` when the task is cancelled before the work starts.
    @inlinable
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> P? {
      guard isBegun else {
        isBegun = true
        return stage
      }
      // Stays nil when the work throws, which ends the iteration.
      guard let stage = stage.take(), stage.result == nil else { return nil }
      if Task.isCancelled { throw CancellationError() }
      let next = try await stage.next()
      self.stage = next
      return next
    }
  }
}

@available(*, unavailable)
extension Stages.Iterator: Sendable {}

extension Chain {
  /// Appends a step that runs a progression.
  ///
  /// The run's events report each stage as `stageReached`; a slow subscriber receives only the newest one. The step is
  /// cancelled like any other step: the run checks for cancellation before each stage.
  ///
  /// ```swift
  /// let open = Chain("pick") { (name: String) in directory.appending(path: name) }.appending(running: FileOpen.read)
  /// ```
  ///
  /// - Parameters:
  ///   - name: The step's name in events, errors and descriptions.
  ///   - first: Receives the output of the previous step and returns the stage to begin with.
  /// - Returns: A new chain, whose output is the progression's result; this one is unchanged.
  public nonisolated func appending<P: Progression>(
    _ name: String? = nil,
    running first: @escaping @Sendable (Output) async throws -> P
  ) -> Chain<Input, P.Result> {
    let code = Chain<Output, P.Result>.code(running: first)
    return Chain<Input, P.Result>(path.appending(step: .step(name, undo: nil as Step<Output, P.Result>.Undo?, code)))
  }

  package init<P: Progression>(
    _ name: String,
    running first: @escaping @Sendable (Input) async throws -> P
  ) where P.Result == Output {
    let step = Node.Kind.step(name, undo: nil as Step<Input, Output>.Undo?, Self.code(running: first))
    self.init(Path(step, isReusable: true))
  }

  static func code<P: Progression>(
    running first: @escaping @Sendable (Input) async throws -> P
  ) -> StepCode where Output == P.Result {
    { frame in
      let (run, recording, record) = (frame.run, frame.recording, frame.record)
      var stages = try await first(frame.slot.take()).stages.makeAsyncIterator()
      while let stage = try await stages.next(isolation: nil) {
        recording?.reached(record, stage: Box(stage))
        if let result = stage.result { return frame.slot.put(result) }
        if run.isCancellationRequested { throw CancellationError() }
      }
    }
  }
}
