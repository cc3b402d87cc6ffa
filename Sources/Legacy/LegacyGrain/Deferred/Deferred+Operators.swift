// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport
internal import Stepwise

// Each operator has a type of its own on one side that no other overload of it has, so that it is left at once.

/// Performs what is on the left, and calls the handler on the right.
@available(*, deprecated, message: "Use `try await`, in a Task { … } where there is none yet")
@preconcurrency
public func >>= <Result>(
  deferred: Deferred<Result>,
  handleResult: sending @escaping (@escaping () throws -> Result) -> Void
) {
  deferred.perform(handleResult)
}

/// What is on the left followed by what the function on the right makes of its result.
@available(*, deprecated, message: "Await the one, then the other, with its result")
public func >>= <Result, Output>(
  deferred: Deferred<Result>,
  transform: @escaping (Result) throws -> Deferred<Output>
) -> Deferred<Output> {
  deferred.flatMap(transform)
}

/// What is on the left followed by what the function on the right makes of its result or its error.
@available(*, deprecated, message: "Await the one in a do statement, then the other")
public func >>= <Result, Output>(
  deferred: Deferred<Result>,
  transform: @escaping (@escaping () throws -> Result) throws -> Deferred<Output>
) -> Deferred<Output> {
  deferred.flatMap(transform)
}

/// A function that is called in a queue.
@available(*, deprecated, message: "Use a Step with executor(_:), or an async function that is bound to an actor")
@preconcurrency
public func + <Result>(queue: DispatchQueue, subroutine: sending @escaping () throws -> Result) -> Deferred<Result> {
  Deferred(running: subroutine).performed(by: Performer(queue))
}

/// A function that is called in the global queue of a quality of service.
@available(*, deprecated, message: "Use Task(priority:) { … }")
@preconcurrency
public func + <Result>(
  qos: DispatchQoS.QoSClass,
  subroutine: sending @escaping () throws -> Result
) -> Deferred<Result> {
  Deferred(running: subroutine).performed(by: Performer(qos))
}

/// The same with its result handed on in a queue; a function is called there.
@available(*, deprecated, message: "Await it in an async function that is bound to an actor, or has an executor")
public func + <Result>(deferred: Deferred<Result>, queue: DispatchQueue) -> Deferred<Result> {
  deferred.performed(by: Performer(queue))
}

/// One after the other, and both results.
@available(*, deprecated, message: "Await both; for both at a time, use async let or Chain.zip")
public func & <First, Second>(first: Deferred<First>, second: Deferred<Second>) -> Deferred<(First, Second)> {
  let second = Sent(second)
  return first.flatMap { first in
    let first = Sent(first)
    return second.value.map { second in (first.value, second) }
  }
}

/// Functions that are called in a queue, beside one another if it is a concurrent one; the results keep their order.
@available(*, deprecated, message: "Use a task group, or thenMap(maxConcurrent:) of Chain")
public func / <Result>(subroutines: [() throws -> Result], queue: DispatchQueue) -> Deferred<[Result]> {
  let deferreds = subroutines.map { subroutine in
    let subroutine = Sent(subroutine)
    return Sent(Deferred { try subroutine.value() }.performed(by: Performer(queue)))
  }
  let chain = Chain { deferreds }
    .thenMap(maxConcurrent: deferreds.count) { deferred in try await deferred.value.value() }
  return .future { resolve in
    chain.start { result in
      resolve { try result.get().map(\.value) }
    }
  }
}
