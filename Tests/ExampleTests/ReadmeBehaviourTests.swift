// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Synchronization
import Testing

/// Rows of the tables of behaviour in the README and in Guarantees.
@Suite(.timeLimit(.minutes(5)))
struct ReadmeBehaviourTests {
  let log = Recorder<String>()

  // G27
  @Test func `The value of the last step stands although the run is cancelled`() async throws {
    let log = log
    let chain = Chain { (number: Int) in
      let token = CancellationToken()
      await withTaskCancellationHandler {
        log.record("begun")
        await token.waitForCancellation()
      } onCancel: {
        token.cancel()
      }
      return number
    }
    let run = chain.start(7)
    await log.elements(atLeast: 1)
    #expect(run.cancel())
    #expect(try await run.value == 7)
  }

  // G28
  @Test func `A run that is cancelled before it begins runs only finally`() async {
    let log = log
    let chain = Chain { (number: Int) in log.record("step \(number)") }
      .onError { error in log.record("\(error)") }
      .finally { _ in log.record("finally") }
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await chain.run(1)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.elements == ["finally"])
  }

  @Test func `A waiting task is cancelled and the run continues`() async throws {
    let gate = CancellationToken()
    let run = Chain { (number: Int) in
      await gate.waitForCancellation()
      return number
    }
    .start(7)
    let waiter = Task { try await run.value }
    waiter.cancel()
    await #expect(throws: CancellationError.self) { try await waiter.value }
    gate.cancel()
    #expect(try await run.value == 7)
  }

  // G35
  @Test func `An undo that throws does not stop the others`() async {
    let log = log
    let run = Chain { (number: Int) in number }
      .then("a", undo: { _ in log.record("undo a") }) { $0 }
      .then("b", undo: { _ in throw Failure("stuck") }) { $0 }
      .then { _ -> Int in throw Failure("no") }
      .onError { error in log.record("\(error)") }
      .start(1)
    await #expect(throws: Failure("no")) { try await run.value }
    #expect(log.elements == ["undo a", "no", "b could not be undone: stuck"])
    #expect(run.undoErrors.map(\.step) == ["b"])
  }

  // G84
  @Test func `A callback that is called twice counts once`() async throws {
    let log = log
    let chain = Chain(
      Step.callback { (number: Int, resolver: Resolver<Int>) in
        log.record("\(resolver.resolve(number)) \(resolver.resolve(number + 1))")
      }
    )
    #expect(try await chain.run(7) == 7)
    #expect(log.elements == ["true false"])
  }

  // G86
  @Test func `A lost callback is noticed when onCancel holds its object weakly`() async {
    nonisolated final class Request: Sendable {
      let completion: @Sendable (Int) -> Void
      init(completion: @escaping @Sendable (Int) -> Void) { self.completion = completion }
      func cancel() {}
    }
    let lost = Step.callback { (_: Int, resolver: Resolver<Int>) in
      let request = Request { number in resolver.resolve(number) }
      resolver.onCancel { [weak request] _ in request?.cancel() }
    }
    await #expect(throws: ResolverError.abandoned) { try await Chain(lost).run(1) }
  }

  @Test func `A run that awaits itself gets an error`() async throws {
    let own = Mutex<Chain<Int, Int>?>(nil)
    let chain = Chain { (number: Int) in
      try await own.withLock { $0 }?.run(number) ?? 0
    }
    .overlap(.serial)
    own.withLock { $0 = chain }
    defer { own.withLock { $0 = nil } }
    await #expect(throws: ChainError.reentrant) { try await chain.run(1) }
  }

  // G72
  @Test func `A token is cancelled once, even by its own handler`() {
    let log = log
    let token = CancellationToken()
    token.onCancel { [weak token] _ in log.record("again: \(token?.cancel() ?? true)") }
    #expect(token.cancel())
    #expect(!token.cancel())
    #expect(log.elements == ["again: false"])
  }
}
