// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// What a run returned is released with the last of those who can read it.
@Suite(.timeLimit(.minutes(5)))
struct RetentionTests {
  enum Keeper: CaseIterable, Sendable { case task, startedRun, resolver, token }

  @Test(arguments: Keeper.allCases)
  func `Work that outlives a step does not retain the run's output`(keeper: Keeper) async throws {
    let tracker = LifetimeTracker()
    let turnstile = Turnstile()
    let resolvers = Recorder<Resolver<Void>>()
    let token = CancellationToken()
    var run: Run<LifetimeTracker.Tracked>? = Chain { () -> LifetimeTracker.Tracked in
      switch keeper {
      case .task: Task { await turnstile.passWhateverHappens() }
      case .startedRun: Chain { await turnstile.passWhateverHappens() }.start()
      case .resolver:
        try await withResolver { resolver in
          resolvers.record(resolver)
          resolver.resolve()
        }
      case .token: try await withCancellation(by: token) {}
      }
      return tracker.track()
    }
    .start()
    _ = await run?.outcome
    for await _ in try #require(run).events {}
    #expect(tracker.alive == 1)
    run = nil
    await tracker.allReleased()
    turnstile.open()
    withExtendedLifetime((resolvers, token)) {}
  }
}
