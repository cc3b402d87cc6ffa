// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport
internal import Stepwise

// One side of each operator is a type that tells it from nearly all others of its name, so that most are left at once.

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

/// A handler that is called in a queue, as in `deferred >>= .main + { useResult in … }`.
@available(*, deprecated, message: "Await it in an async function that is bound to an actor, the main actor most often")
@preconcurrency
public func + <Input>(
  queue: DispatchQueue,
  handler: sending @escaping (Input) -> Void
) -> sending (Input) -> Void {
  called(by: Performer(queue), Sent(handler))
}

/// A handler that is called in the global queue of a quality of service.
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

/// The same with its result handed on in a queue; a function is called there.
@available(*, deprecated, message: "Await it in an async function that is bound to an actor, or has an executor")
public func + <Result>(deferred: Deferred<Result>, queue: DispatchQueue) -> Deferred<Result> {
  deferred.performed(by: Performer(queue))
}

/// The same with its result handed on in the global queue of a quality of service; a function is called there.
@available(*, deprecated, message: "Await it in a Task(priority:) { … }")
public func + <Result>(deferred: Deferred<Result>, qos: DispatchQoS.QoSClass) -> Deferred<Result> {
  deferred.performed(by: Performer(qos))
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

/// One after the other, and the first one's result, as the second has none.
@available(*, deprecated, message: "Await both; for both at a time, use async let or Chain.zip")
public func & <Result>(first: Deferred<Result>, second: Deferred<Void>) -> Deferred<Result> {
  let second = Sent(second)
  return first.flatMap { first in
    let first = Sent(first)
    return second.value.map { first.value }
  }
}

/// One after the other, and the second one's result, as the first has none.
@available(*, deprecated, message: "Await both; for both at a time, use async let or Chain.zip")
public func & <Result>(first: Deferred<Void>, second: Deferred<Result>) -> Deferred<Result> {
  let second = Sent(second)
  return first.flatMap { second.value }
}

/// One after the other, neither of which has a result.
@available(*, deprecated, message: "Await both; for both at a time, use async let or Chain.zip")
public func & (first: Deferred<Void>, second: Deferred<Void>) -> Deferred<Void> {
  let second = Sent(second)
  return first.flatMap { second.value }
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
