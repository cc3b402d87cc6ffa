// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport
internal import Stepwise

/// Work that is done later, and its result.
///
/// The work is done each time the deferred is performed. That of a unit is done where, and each time that, the closure
/// passed to the handler is called; it is not done when the closure is not called.
@available(*, deprecated, message: "Write an async function; a future is withResolver { resolver in … }")
public enum Deferred<Result> {
  /// Returns the result or throws.
  @available(*, deprecated, message: "Write `() throws -> Result`")
  public typealias UseResult = () throws -> Result

  /// Takes a closure that returns the result or throws, of which the first counts.
  @available(*, deprecated, message: "Use Resolver, and its resolve { … }")
  public typealias Resolve = @Sendable (@escaping () throws -> Result) -> Void

  /// Work that is done by a function.
  @available(*, deprecated, message: "Call the function in an async one")
  case unit(() throws -> Result)

  /// Work that calls back: a closure that starts it, and is passed what to call.
  @available(*, deprecated, message: "Use withResolver { resolver in … }, and resolver.resolve { … }")
  case future((@escaping @Sendable (@escaping () throws -> Result) -> Void) -> Void)

  /// An error made of others.
  @available(*, deprecated, message: "Throw your own error")
  public enum Error: Swift.Error {
    /// The errors.
    @available(*, deprecated, message: "Throw your own error")
    case underlyingErrors([any Swift.Error])
  }

  /// Creates work that is done by a function.
  @available(*, deprecated, message: "Call the function in an async one")
  public init(running subroutine: @escaping () throws -> Result) { self = .unit(subroutine) }

  /// Creates work that fails.
  @available(*, deprecated, message: "Throw the error in an async function")
  public init(throwing error: any Swift.Error) { self = .unit { throw error } }

  // MARK: - Performing

  /// Passes the result to a handler, as a closure that returns the result or throws.
  ///
  /// The handler of a unit is called before this returns, and the function when the handler calls the closure. The
  /// handler of a future is called when the future is resolved, on that thread; with `ResolverError.abandoned` when it
  /// no longer can be.
  @available(*, deprecated, message: "Use `try await`, in a Task { … } where there is none yet")
  @preconcurrency
  public func perform(_ handleResult: sending @escaping (@escaping () throws -> Result) -> Void) {
    pass(to: handleResult)
  }

  package func pass(to handleResult: @escaping (@escaping () throws -> Result) -> Void) {
    switch self {
    case .unit(let useResult): handleResult(useResult)
    case .future(let request):
      let resolution = Resolution(handleResult)
      request { useResult in resolution.resolve(useResult) }
    }
  }
}

@available(*, unavailable)
extension Deferred: Sendable {}

@available(*, deprecated)
extension Deferred {
  /// Returns the same work with its result transformed, where and when the closure passed to the handler is called.
  @available(*, deprecated, message: "Transform the result of `try await`")
  public func map<Output>(_ transform: @escaping (Result) throws -> Output) -> Deferred<Output> {
    flatMap { useResult in .unit { try transform(useResult()) } }
  }

  /// Returns the same work followed by other work, which a function makes of the result or the error.
  ///
  /// For a unit the function is called now; for a future when it is resolved.
  @available(*, deprecated, message: "Await the one in a do statement, then the other")
  public func flatMap<Output>(
    _ transform: @escaping (@escaping () throws -> Result) throws -> Deferred<Output>
  ) -> Deferred<Output> {
    switch self {
    case .unit(let useResult):
      do { return try transform(useResult) } catch { return Deferred<Output>(throwing: error) }
    case .future(let request):
      let transform = Sent(transform)
      return .future { resolve in
        request { useResult in
          do {
            try transform.value(useResult).pass { useOutput in resolve(useOutput) }
          } catch {
            resolve { throw error }
          }
        }
      }
    }
  }

  /// Returns the same work without its result.
  @available(*, deprecated, message: "Write `_ = try await …`")
  public func ignoringResult() -> Deferred<Void> { map { _ in } }

  /// Returns the same work with its handler called by a performer.
  package func handled(by performer: Performer) -> Deferred {
    let this = Sent(self)
    return .future { resolve in
      this.value.pass { useResult in
        let useResult = Sent(useResult)
        performer { resolve(useResult.value) }
      }
    }
  }
}

// One operand of each operator has a type that few others of its name have: the compiler discards most.

/// Performs the work on the left, and passes its result to the handler on the right.
@available(*, deprecated, message: "Use `try await`, in a Task { … } where there is none yet")
@preconcurrency
public func >>= <Result>(
  deferred: Deferred<Result>,
  handleResult: sending @escaping (@escaping () throws -> Result) -> Void
) {
  deferred.pass(to: handleResult)
}

/// Returns the work on the left followed by the work that the function on the right makes of its result or its error.
@available(*, deprecated, message: "Await the one in a do statement, then the other")
public func >>= <Result, Output>(
  deferred: Deferred<Result>,
  transform: @escaping (@escaping () throws -> Result) throws -> Deferred<Output>
) -> Deferred<Output> {
  deferred.flatMap(transform)
}

/// Returns a function that calls the function on the right in a queue.
@available(*, deprecated, message: "Await it in an async function that is bound to an actor, the main actor most often")
@preconcurrency
public func + <Input>(
  queue: DispatchQueue,
  handler: sending @escaping (Input) -> Void
) -> sending (Input) -> Void {
  called(by: Performer(queue), Sent(handler))
}

/// Returns a function that calls the function on the right in the global queue of a quality of service.
@available(*, deprecated, message: "Use `try await` in a Task(priority:) { … }")
@preconcurrency
public func + <Input>(
  qos: DispatchQoS.QoSClass,
  handler: sending @escaping (Input) -> Void
) -> sending (Input) -> Void {
  called(by: Performer(qos), Sent(handler))
}

private func called<Input>(by performer: Performer, _ handler: Sent<(Input) -> Void>) -> sending (Input) -> Void {
  { input in
    let input = Sent(input)
    performer { handler.value(input.value) }
  }
}

/// Returns the same work with its handler called in a queue, where that of a unit is done.
@available(*, deprecated, message: "Await it in an async function that is bound to an actor, or has an executor")
public func + <Result>(deferred: Deferred<Result>, queue: DispatchQueue) -> Deferred<Result> {
  deferred.handled(by: Performer(queue))
}

/// Returns the same work with its handler called in the global queue of a quality of service, where a unit's is done.
@available(*, deprecated, message: "Await it in a Task(priority:) { … }")
public func + <Result>(deferred: Deferred<Result>, qos: DispatchQoS.QoSClass) -> Deferred<Result> {
  deferred.handled(by: Performer(qos))
}

/// Returns the work on the left, then that on the right, with both results.
///
/// A unit on the left is done now.
@available(*, deprecated, message: "Await both; for both at a time, use async let or Chain.zip")
public func & <First, Second>(first: Deferred<First>, second: Deferred<Second>) -> Deferred<(First, Second)> {
  first.flatMap { useFirst in
    let first = try useFirst()
    return second.map { second in (first, second) }
  }
}

/// Returns the work on the left, then that on the right, with the first result.
///
/// A unit on the left is done now.
@available(*, deprecated, message: "Await both; for both at a time, use async let or Chain.zip")
public func & <Result>(first: Deferred<Result>, second: Deferred<Void>) -> Deferred<Result> {
  first.flatMap { useFirst in
    let first = try useFirst()
    return second.map { first }
  }
}

/// Returns the work on the left, then that on the right, with the second result.
///
/// A unit on the left is done now.
@available(*, deprecated, message: "Await both; for both at a time, use async let or Chain.zip")
public func & <Result>(first: Deferred<Void>, second: Deferred<Result>) -> Deferred<Result> {
  first.flatMap { useFirst in
    try useFirst()
    return second
  }
}

/// Returns the work on the left, then that on the right, neither of which has a result.
///
/// A unit on the left is done now.
@available(*, deprecated, message: "Await both; for both at a time, use async let or Chain.zip")
public func & (first: Deferred<Void>, second: Deferred<Void>) -> Deferred<Void> {
  first.flatMap { useFirst in
    try useFirst()
    return second
  }
}

/// Returns the work of calling functions concurrently in a turn of a queue, with their results in order.
@available(*, deprecated, message: "Use a task group, or thenMap(maxConcurrent:) of Chain")
public func / <Result>(subroutines: [() throws -> Result], queue: DispatchQueue) -> Deferred<[Result]> {
  let subroutines = subroutines.map(Sent.init)
  return .future { resolve in
    queue.async {
      let results = Lock([Sent<Swift.Result<Result, any Error>>?](repeating: nil, count: subroutines.count))
      DispatchQueue.concurrentPerform(iterations: subroutines.count) { index in
        let result = Sent(Swift.Result(catching: subroutines[index].value))
        results.withLock { $0[index] = result }
      }
      let all = results.withLock { $0.compactMap(\.self) }
      resolve { try all.map { result in try result.value.get() } }
    }
  }
}
