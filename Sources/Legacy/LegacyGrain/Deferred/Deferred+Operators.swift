// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport
internal import Stepwise

// One operand of each operator has a type that few others of its name have, so that the compiler discards most.

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
