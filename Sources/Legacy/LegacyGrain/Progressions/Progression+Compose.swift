// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Dispatch

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
