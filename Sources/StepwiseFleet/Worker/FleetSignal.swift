// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

  /// Wakes one Task; one that is raised while no Task waits is remembered, once.
  final class FleetSignal: Sendable {
    private struct State {
      var isRaised = false
      var waiter: Once<Void>?
    }

    private let state = Lock(State())

    func raise() {
      let waiter = state.withLock { state in
        if state.waiter == nil { state.isRaised = true }
        return state.waiter.take()
      }
      waiter?.settle(())
    }

    /// Returns when the signal was raised, when the time has passed, or when the Task is cancelled.
    func wait(upTo limit: Duration) async {
      let waiter = Once<Void>()
      let isRaised = state.withLock { state in
        defer { state.isRaised = false }
        if !state.isRaised { state.waiter = waiter }
        return state.isRaised
      }
      if isRaised { return }
      await withTaskGroup { group in
        group.addTask { _ = await waiter.value() }
        group.addTask { try? await Task.sleep(for: limit) }
        await group.next()
        group.cancelAll()
      }
      state.withLock { $0.waiter = nil }
    }
  }
#endif
