// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport

/// Work in stages, each of which produces the next one until there is a result.
///
/// Write one of `next()` and `updateOrDeferNext()`; each of them is made of the other.
@available(*, deprecated, message: "Use Progression of Stepwise, whose next() is async throws")
public protocol Progression: SendableMetatype {
  /// The type of the result that the last stage holds.
  associatedtype Result

  /// Returns work that produces the next stage.
  func next() -> Deferred<Self>

  /// Advances to the next stage in place and returns nil, or returns work that produces it.
  ///
  /// - Returns: Work that produces the next stage; nil when this already is that stage.
  /// - Throws: An error that ends the run at this stage.
  mutating func updateOrDeferNext() throws -> Deferred<Self>?

  /// The result, which marks a stage as the last one; nil for every other stage.
  var result: Result? { get }
}

@available(*, deprecated)
extension Progression {
  /// Returns work that produces the next stage by calling `updateOrDeferNext()` when it is performed.
  ///
  /// It fails with ``ProgressionError/notImplemented(type:)`` when that method has its default implementation.
  @available(*, deprecated, message: "Write next() async throws of Progression of Stepwise")
  public func next() -> Deferred<Self> {
    let stage = Sent(self)
    return .future { resolve in
      var stage = stage.value
      do {
        let deferred = try Asking.$type.withValue(ObjectIdentifier(Self.self)) { try stage.updateOrDeferNext() }
        if let deferred {
          deferred.pass { useNext in resolve(useNext) }
        } else {
          let advanced = Sent(stage)
          resolve { advanced.value }
        }
      } catch {
        resolve { throw error }
      }
    }
  }

  /// Returns work that produces the next stage by calling `next()`.
  ///
  /// - Returns: Work that produces the next stage.
  /// - Throws: ``ProgressionError/notImplemented(type:)`` when `next()` has its default implementation.
  @available(*, deprecated, message: "Write next() async throws of Progression of Stepwise")
  public mutating func updateOrDeferNext() throws -> Deferred<Self>? {
    guard Asking.type != ObjectIdentifier(Self.self) else {
      throw ProgressionError.notImplemented(type: String(describing: Self.self))
    }
    return next()
  }
}

/// The type whose own `next()` is calling `updateOrDeferNext()`.
private enum Asking {
  @TaskLocal static var type: ObjectIdentifier?
}

/// An error that ends a progression.
@available(*, deprecated, message: "Use CancellationError; next() of Progression of Stepwise has no default")
public enum ProgressionError: Error, Equatable {
  /// The progress closure returned false.
  @available(*, deprecated, message: "Leave the loop over `stages`; a cancelled run throws CancellationError")
  case cancelled

  /// The progression implements neither `next()` nor `updateOrDeferNext()`.
  @available(*, deprecated, message: "next() of Progression of Stepwise has no default")
  case notImplemented(type: String)
}

/// Ends `next()` of the last stage, which is never called.
///
/// No stage follows the stage with a result. Code that requests one stops the program here.
@available(*, deprecated, message: "Write `try completed()`, which throws in place of stopping the program")
public func completedStep<P: Progression>(_ stage: P) -> Never {
  fatalError("\(stage) is the last stage")  // Safety: old code ends a switch with it, so that it cannot return.
}

/// Ends `next()` of the last stage, as `completedStep` does.
@available(*, deprecated, message: "Write `try completed()`, which throws in place of stopping the program")
public func completedStage<P: Progression>(_ stage: P) -> Never { completedStep(stage) }

@available(*, deprecated)
extension Progression {
  /// Does the work of this stage as part of another progression; call it from the `next()` of that progression.
  ///
  /// - Parameters:
  ///   - transformNext: Wraps the next stage.
  ///   - transformResult: Returns the stage that follows this one's result, when it has one.
  /// - Returns: Work that produces the other progression's next stage.
  @available(*, deprecated, message: "Use compose of Progression of Stepwise: the same with try await, and no Deferred")
  public func compose<Outer: Progression>(
    transformNext: @escaping (Self) throws -> Outer,
    transformResult: (Result) throws -> Deferred<Outer>
  ) -> Deferred<Outer> {
    if let result {
      do { return try transformResult(result) } catch { return Deferred(throwing: error) }
    }
    return next().map(transformNext)
  }

  /// Does the work of a stage of another progression as part of this one; call it from the `next()` of this one.
  ///
  /// - Parameters:
  ///   - inner: The stage of the other progression.
  ///   - mapNext: Wraps the next stage.
  ///   - mapResult: Returns the stage that follows the inner result, when there is one.
  /// - Returns: Work that produces this progression's next stage.
  @available(*, deprecated, message: "Use inner.compose(transformNext:transformResult:) of Progression of Stepwise")
  public func compose<Inner: Progression>(
    _ inner: Inner,
    mapNext: @escaping (Inner) throws -> Self,
    mapResult: @escaping (Inner.Result) throws -> Self
  ) -> Deferred<Self> {
    inner.compose(transformNext: mapNext) { result in Deferred { try mapResult(result) } }
  }

  /// Does the work of a stage of another progression as part of this one; call it from the `next()` of this one.
  ///
  /// - Parameters:
  ///   - inner: The stage of the other progression.
  ///   - mapNext: Wraps the next stage.
  ///   - flatMapResult: Returns work that produces the stage that follows the inner result, when there is one.
  /// - Returns: Work that produces this progression's next stage.
  @available(*, deprecated, message: "Use inner.compose(transformNext:transformResult:) of Progression of Stepwise")
  public func compose<Inner: Progression>(
    _ inner: Inner,
    mapNext: @escaping (Inner) throws -> Self,
    flatMapResult: (Inner.Result) throws -> Deferred<Self>
  ) -> Deferred<Self> {
    inner.compose(transformNext: mapNext, transformResult: flatMapResult)
  }

  /// Returns the work of all stages from this one on, in a global queue, with their result transformed.
  @available(*, deprecated, message: "Use map of Progression of Stepwise, which is a progression with one stage more")
  public func map<Output>(_ transform: @escaping (Result) throws -> Output) -> Deferred<Output> {
    deferred(Performer(.utility), progress: nil).map(transform)
  }

  /// Returns the work of all stages from this one on, in a global queue, followed by work that is created from their
  /// result.
  @available(*, deprecated, message: "Use flatMap of Progression of Stepwise, whose stages are those of both")
  public func flatMap<Output>(
    _ transform: @escaping (Result) throws -> Deferred<Output>
  ) -> Deferred<Output> {
    deferred(Performer(.utility), progress: nil).flatMap { useResult in try transform(useResult()) }
  }
}

@available(*, deprecated)
extension Progression {
  /// Runs the stages from this one on, and calls a handler where the last one ends.
  ///
  /// - Parameters:
  ///   - qos: The quality of service of the global queue of each stage.
  ///   - completion: Called with a closure that returns the result or throws the error of a stage.
  @available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise, or its execute")
  @preconcurrency
  public func execute(
    qos: DispatchQoS.QoSClass = .utility,
    _ completion: sending @escaping (_ useResult: @escaping () throws -> Result) -> Void
  ) {
    deferred(Performer(qos), progress: nil).pass(to: completion)
  }

  /// Runs the stages from this one on, and calls a handler where the last one ends.
  ///
  /// - Parameters:
  ///   - queue: The queue of each stage.
  ///   - completion: Called with a closure that returns the result or throws the error of a stage.
  @available(*, deprecated, message: "Use `try await run()` of Progression, under withTaskExecutorPreference")
  @preconcurrency
  public func execute(
    on queue: DispatchQueue,
    _ completion: sending @escaping (_ useResult: @escaping () throws -> Result) -> Void
  ) {
    deferred(Performer(queue), progress: nil).pass(to: completion)
  }

  /// Runs the stages from this one on, and calls a handler where the last one ends.
  ///
  /// - Parameters:
  ///   - performer: Where each stage runs.
  ///   - completion: Called with a closure that returns the result or throws the error of a stage.
  @available(*, deprecated, message: "Use `try await run()` of Progression, under withTaskExecutorPreference")
  @preconcurrency
  public func execute(
    performer: sending @escaping AsyncPerformer,
    _ completion: sending @escaping (_ useResult: @escaping () throws -> Result) -> Void
  ) {
    deferred(Performer(performer), progress: nil).pass(to: completion)
  }

  /// All stages from this one on, and the result.
  ///
  /// - Parameters:
  ///   - performer: Where each stage runs.
  ///   - progress: Called with each stage where it runs, this one and the last included; when it returns false, the
  ///     stage does not run, and the error is ``ProgressionError/cancelled``.
  /// - Returns: Work that is done when it is performed.
  @available(*, deprecated, message: "Use `for try await stage in stages`, and break to stop")
  @preconcurrency
  public func deferred(
    performer: sending @escaping AsyncPerformer,
    progress: sending ((Self) -> Bool)? = nil
  ) -> Deferred<Result> {
    deferred(Performer(performer), progress: progress.map(Sent.init))
  }

  /// All stages from this one on, and the result.
  ///
  /// - Parameters:
  ///   - performer: The queue of each stage.
  ///   - progress: Called with each stage where it runs, this one and the last included; when it returns false, the
  ///     stage does not run, and the error is ``ProgressionError/cancelled``.
  /// - Returns: Work that is done when it is performed.
  @available(*, deprecated, message: "Use `for try await stage in stages`, and break to stop")
  @preconcurrency
  public func deferred(
    performer: DispatchQueue = .global(qos: .utility),
    progress: sending ((Self) -> Bool)? = nil
  ) -> Deferred<Result> {
    deferred(Performer(performer), progress: progress.map(Sent.init))
  }

  /// All stages from this one on, and the result.
  ///
  /// - Parameters:
  ///   - queue: The queue of each stage.
  ///   - progress: Called with each stage where it runs, this one and the last included; when it returns false, the
  ///     stage does not run, and the error is ``ProgressionError/cancelled``.
  /// - Returns: Work that is done when it is performed.
  @available(*, deprecated, message: "Use `for try await stage in stages`, and break to stop")
  @preconcurrency
  public func deferred(
    queue: DispatchQueue,
    progress: sending ((Self) -> Bool)? = nil
  ) -> Deferred<Result> {
    deferred(Performer(queue), progress: progress.map(Sent.init))
  }

  func deferred(_ performer: Performer, progress: Sent<(Self) -> Bool>?) -> Deferred<Result> {
    let first = Sent(self)
    return .future { resolve in
      StageRunner<Self, Result>(
        performer: { _ in performer },
        visit: { stage in
          if let progress, !progress.value(stage) { throw ProgressionError.cancelled }
          if let result = stage.result { return .result { result } }
          return .next(stage.next())
        },
        complete: { useResult in resolve(useResult) }
      )
      .start(first.value)
    }
  }
}

/// All stages of the progression on the left in the queue on the right, and the result.
@available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise")
public func / <P: Progression>(progression: P, queue: DispatchQueue) -> Deferred<P.Result> {
  progression.deferred(Performer(queue), progress: nil)
}

/// All stages of the progression on the left in the global queue of a quality of service, and the result.
@available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise, in a Task of that priority")
public func / <P: Progression>(progression: P, qos: DispatchQoS.QoSClass) -> Deferred<P.Result> {
  progression.deferred(Performer(qos), progress: nil)
}
