// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import Testing

extension Races {
  /// Tokens and registrations on real threads.
  @Suite struct TokenRaceTests {
    private final class Arena: Sendable {
      let token = CancellationToken()
      let parent = CancellationToken()
      let calls = Tally()
      let firsts = Tally()
      let faults = Tally()
      let registration = Once<CancellationRegistration>()
      let child = Once<CancellationToken>()

      func cancel(_ reason: String) {
        if token.cancel(reason: reason) { firsts.add() }
      }
    }

    /// Two callers may not both get `true`.
    @Test func `One of many cancels is the first`() async {
      await race(
        in: {
          let arena = Arena()
          arena.token.onCancel { _ in arena.calls.add() }
          return arena
        },
        { arena in arena.cancel("a") },
        { arena in arena.cancel("b") },
        { arena in arena.cancel("c") },
        referee: { arena in
          arena.firsts.total == 1 && arena.calls.total == 1 && arena.token.reason != nil
            ? nil : "\(arena.firsts.total) first, \(arena.calls.total) calls"
        }
      )
    }

    /// Registered before, during or after the cancel: each handler is called once.
    @Test func `A handler registered during the cancel is called once`() async {
      await race(
        in: {
          Arena()
        },
        { arena in arena.cancel("stop") },
        { arena in
          for _ in 0..<4 {
            arena.token.onCancel { reason in if reason == "stop" { arena.calls.add() } }
          }
        },
        referee: { arena in
          arena.calls.total == 4 ? nil : "\(arena.calls.total) calls"
        }
      )
    }

    /// A handler runs exactly when its removal returns false.
    @Test func `A removal returns whether the handler runs`() async {
      await race(
        in: {
          let arena = Arena()
          arena.registration.settle(arena.token.onCancel { [unowned arena] _ in arena.calls.add() })
          return arena
        },
        { arena in arena.cancel("stop") },
        { arena in if arena.registration.settled?.remove() == true { arena.faults.add() } },
        referee: { arena in
          arena.faults.total + arena.calls.total == 1
            ? nil : "\(arena.faults.total) removals, \(arena.calls.total) calls"
        }
      )
    }

    /// Removed by several at once, one of them the handler itself: all return.
    @Test func `A handler that removes itself races with other removals`() async {
      await race(
        in: {
          let arena = Arena()
          let registration = arena.token.onCancel { [unowned arena] _ in
            arena.registration.settled?.remove()
            arena.calls.add()
          }
          arena.registration.settle(registration)
          return arena
        },
        { arena in arena.cancel("stop") },
        { arena in arena.registration.settled?.remove() },
        { arena in arena.registration.settled?.remove() },
        referee: { arena in
          return arena.calls.total <= 1 ? nil : "\(arena.calls.total) calls"
        }
      )
    }

    /// A child created, or released, while its parent is cancelled is cancelled, or gone.
    @Test func `Linking races with the parent's cancel`() async {
      await race(
        in: {
          Arena()
        },
        { arena in arena.parent.cancel(reason: "parent") },
        { arena in
          let child = CancellationToken(linkedTo: arena.parent)
          child.onCancel { reason in if reason == "parent" { arena.calls.add() } }
          arena.child.settle(child)
          for _ in 0..<4 { _ = CancellationToken(linkedTo: arena.parent) }
        },
        referee: { arena in
          let isCancelled = arena.child.settled?.isCancelled == true
          return isCancelled && arena.calls.total == 1 ? nil : "cancelled \(isCancelled), \(arena.calls.total) calls"
        }
      )
    }

    @Test func `A child and its parent cancelled at once both end`() async {
      await race(
        in: {
          let arena = Arena()
          let child = CancellationToken(linkedTo: arena.parent)
          child.onCancel { [unowned arena] _ in arena.calls.add() }
          arena.child.settle(child)
          return arena
        },
        { (arena: Arena) in arena.parent.cancel(reason: "parent") },
        { arena in arena.child.settled?.cancel(reason: "child") },
        { arena in
          if let child = arena.child.settled { _ = CancellationToken(linkedTo: child) }
        },
        referee: { arena in
          let reason = arena.child.settled?.reason ?? "-"
          return arena.calls.total == 1 && (reason == "parent" || reason == "child")
            ? nil : "\(arena.calls.total) \(reason)"
        }
      )
    }
  }
}
