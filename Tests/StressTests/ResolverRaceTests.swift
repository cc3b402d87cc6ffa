// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

extension Races {
  /// Resolvers on real threads: concurrent calls, cancellations and releases.
  @Suite struct ResolverRaceTests {
    /// A wait for a callback, with a resolver in a slot that any thread may take.
    private final class Arena: Sendable {
      let resolver = Watched<Resolver<Int>?>(nil)
      let firsts = Tally()
      let handlers = Tally()
      let late = Tally()
      let task: Task<Int, any Error>

      init() {
        let ready = Once<Void>()
        let (place, handlers, late) = (resolver, handlers, late)
        task = Task {
          try await withResolver { resolver in
            resolver.onCancel { _ in handlers.add() }
            resolver.onLateValue { late.add($0) }
            place.mutate { $0 = resolver }
            ready.settle(())
          }
        }
        wait { await ready.valueIgnoringCancellation() }
      }

      func resolve(_ number: Int) {
        // Held by the arena as long as the calls go on.
        guard let resolver = resolver.read({ $0 }) else { return }
        if resolver.resolve(number) { firsts.add(number) }
      }

      func release() {
        _ = resolver.mutate { $0.take() }
      }

      var ending: Result<Int, any Error> {
        let task = task
        return wait { await task.result }
      }
    }

    /// The first of many calls wins.
    @Test func `One of many calls is the first`() async {
      Self.silenceMisuses
      await race(
        in: { Arena() },
        { $0.resolve(1) },
        { $0.resolve(2) },
        referee: { arena in
          let value = try? arena.ending.get()
          return value == arena.firsts.total && arena.handlers.total == 0 && arena.late.total == 0
            ? nil : "\(value ?? 0), first \(arena.firsts.total), late \(arena.late.total)"
        }
      )
    }

    /// A cancel against a call: no value is lost, and handlers run exactly when the cancel was first.
    @Test func `A call races with a cancel`() async {
      await race(
        in: { Arena() },
        { $0.resolve(7) },
        { $0.task.cancel() },
        referee: { arena in
          let counts = [arena.firsts.total, arena.late.total, arena.handlers.total]
          switch arena.ending {
          case .success(let value): return value == 7 && counts == [7, 0, 0] ? nil : "\(value) \(counts)"
          case .failure(let error):
            return error is CancellationError && counts == [0, 7, 1] ? nil : "\(error) \(counts)"
          }
        }
      )
    }

    /// A cancel against the last reference.
    @Test func `A release races with a cancel`() async {
      await race(
        in: { Arena() },
        { $0.release() },
        { $0.task.cancel() },
        referee: { arena in
          guard case .failure(let error) = arena.ending else { return "a value" }
          let isAbandoned = error as? ResolverError == .abandoned
          return (isAbandoned || error is CancellationError) && arena.handlers.total == (isAbandoned ? 0 : 1)
            ? nil : "\(error) \(arena.handlers.total)"
        }
      )
    }

    /// A call races the release of all other references.
    @Test func `A call races with the release`() async {
      await race(
        in: { Arena() },
        { $0.resolve(7) },
        { $0.release() },
        referee: { arena in
          switch arena.ending {
          case .success(let value): return value == 7 && arena.firsts.total == 7 ? nil : "\(value)"
          case .failure(let error):
            return error as? ResolverError == .abandoned && arena.firsts.total == 0 ? nil : "\(error)"
          }
        }
      )
    }

    /// Handlers that are registered during the cancellation are still called.
    @Test func `A handler registered during the cancel is called once`() async {
      await race(
        in: { Arena() },
        { arena in
          guard let resolver = arena.resolver.read({ $0 }) else { return }
          resolver.onCancel { _ in arena.handlers.add() }
        },
        { $0.task.cancel() },
        referee: { arena in
          _ = arena.ending
          return arena.handlers.total == 2 ? nil : "\(arena.handlers.total) handlers"
        }
      )
    }

    /// Of many calls all but one are misuse here, which would be a line each.
    private static let silenceMisuses: Void = {
      ResolverMisuse.handler = { _ in }
    }()
  }
}
