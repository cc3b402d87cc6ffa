// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// A resolver that is released without a call ends the wait with an error that names its location.
@Suite(.timeLimit(.minutes(5)))
struct ResolverAbandonmentTests {
  // G86
  @Test func `A released resolver fails as abandoned`() async {
    let line: UInt = #line + 1
    let wait = { try await withResolver { (_: Resolver<Int>) in } }
    let error = await #expect(throws: ResolverError.self) { try await wait() }
    #expect(error == .abandoned)
    #expect(error == .abandoned)
    #expect(error?.file == #fileID)
    #expect(error?.line == line)
    #expect(error?.description.contains("\(#fileID):\(line)") == true)
  }

  @Test func `A callback that is dropped later fails as abandoned`() async {
    let callbacks = Recorder<Int>()
    let kept = Lock<(@Sendable () -> Void)?>(nil)
    let task = Task {
      try await withResolver { (resolver: Resolver<Int>) in
        kept.withLock { $0 = { resolver.resolve(1) } }
        resolver.onCancel { _ in Issue.record("nothing was cancelled") }
        callbacks.record(1)
      }
    }
    await callbacks.elements(atLeast: 1)
    await onForeignThread {
      let dropped = kept.withLock { $0.take() }
      withExtendedLifetime(dropped) {}
    }
    await #expect(throws: ResolverError.abandoned) { try await task.value }
  }

  @Test func `A step names the line that created it`() async {
    let line: UInt = #line + 1
    let step = Step.callback { (_: Int, _: Resolver<Int>) in }
    let outcome = await Chain(step).start(1).outcome
    guard case .failed(let error as ResolverError) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(error == .abandoned)
    #expect(error.file == #fileID)
    #expect(error.line == line)
  }

  @Test func `A catch clause matches the error`() async {
    do {
      _ = try await withResolver { (_: Resolver<Int>) in }
      Issue.record("it was abandoned")
    } catch ResolverError.noValueAndNoError {
      Issue.record("it was abandoned")
    } catch ResolverError.abandoned {
    } catch {
      Issue.record(error)
    }
  }

  /// An error like any other: it can be recovered from, and retried.
  @Test func `An abandoned step can be retried and recovered`() async throws {
    let attempts = Recorder<Int>()
    let step = Step.callback { (_: Int, resolver: Resolver<Int>) in
      attempts.record(1)
      if attempts.elements.count == 3 { resolver.resolve(7) }
    }
    #expect(try await Chain(step.retry(RetryPolicy(maxAttempts: 3, backoff: .none))).run(1) == 7)
    let recovered = Chain(Step.callback { (_: Int, _: Resolver<Int>) in }).recover(from: ResolverError.self) { _ in 8 }
    #expect(try await recovered.run(1) == 8)
  }

  @Test func `The body's frames do not retain the resolver`() async {
    await #expect(throws: ResolverError.abandoned) {
      try await withResolver { (resolver: Resolver<Int>) in
        await Task.yield()
        withExtendedLifetime(resolver) {}
        await Task.yield()
      }
    }
  }

  // MARK: - Lifetimes

  @Test func `Nothing of a resolver is retained after the wait`() async throws {
    let tracker = LifetimeTracker()
    let kept = Recorder<Resolver<Int>>()
    let value = try await withResolver { (resolver: Resolver<Int>) in
      let (onCancel, onLateValue) = (tracker.track(), tracker.track())
      resolver.onCancel { _ in withExtendedLifetime(onCancel) {} }
      resolver.onLateValue { _ in withExtendedLifetime(onLateValue) {} }
      kept.record(resolver)
      resolver.resolve(7)
    }
    #expect(value == 7)
    #expect(tracker.made == 2)
    #expect(tracker.alive == 0)
    withExtendedLifetime(kept) {}
  }

  @Test func `Handlers that retain the resolver are released with the call`() async throws {
    let tracker = LifetimeTracker()
    weak var watched: Resolver<Int>?
    let value = try await withResolver { (resolver: Resolver<Int>) in
      watched = resolver
      let tracked = tracker.track()
      resolver.onCancel { _ in withExtendedLifetime((resolver, tracked)) {} }
      resolver.onLateValue { _ in withExtendedLifetime((resolver, tracked)) {} }
      resolver.resolve(7)
    }
    #expect(value == 7)
    #expect(watched == nil)
    #expect(tracker.alive == 0)
  }
}
